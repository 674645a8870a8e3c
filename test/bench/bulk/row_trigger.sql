BEGIN;
SELECT 1;
UPDATE any_row_trigger SET v = v + 1;
COMMIT;
