\set id random(1, 100000)
BEGIN;
SELECT 1;
UPDATE bare SET v = v + 1 WHERE id = :id;
COMMIT;
