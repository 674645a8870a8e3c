BEGIN;
SELECT 1;
UPDATE partitions_bare SET v = v + 1;
COMMIT;
