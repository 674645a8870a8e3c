-- Refused writes are counted, and the count stays when their transaction is rolled back.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.refusals_reset() >= 0 AS reset;
CREATE TABLE refused_a (id int PRIMARY KEY, v text, fence bigint);
CREATE TABLE refused_b (LIKE refused_a INCLUDING ALL);
SELECT gatepost.token_draw() AS old \gset
SELECT gatepost.token_draw() AS new \gset
INSERT INTO refused_a VALUES (1, 'new', :new);
INSERT INTO refused_b VALUES (1, 'new', :new);
CREATE VIEW pg_temp.counted AS SELECT relation, name, reason, count FROM gatepost.refusals ORDER BY relation::text COLLATE "C";
CREATE FUNCTION pg_temp.write(target regclass, token bigint) RETURNS text LANGUAGE sql AS $$
  SELECT left(pg_temp.ask(format('SELECT gatepost.fenced_update(%L, ''{"id": 1}'', ''{"v": "x"}'', $1)', target), token), 5)
$$;
-- "before" and "after" a point in time, for last_at
SELECT clock_timestamp() AS begun \gset

-- rolled back as a whole, to a savepoint, and by an exception block
\set VERBOSITY sqlstate
BEGIN;
SELECT gatepost.fenced_update('refused_a', '{"id": 1}', '{"v": "stale"}', :old);
ROLLBACK;
SELECT * FROM pg_temp.counted;
BEGIN;
SAVEPOINT s;
SELECT gatepost.fenced_update('refused_a', '{"id": 1}', '{"v": "stale"}', :old);
ROLLBACK TO s;
SELECT * FROM pg_temp.counted;
ROLLBACK;
\set VERBOSITY terse
SELECT pg_temp.write('refused_a', :old), pg_temp.write('refused_b', :old);
SELECT * FROM pg_temp.counted;
SELECT bool_and(last_at BETWEEN :'begun' AND clock_timestamp()) AS dated FROM gatepost.refusals;
-- what is no refusal is not counted
SELECT pg_temp.write('refused_a', :new), gatepost.fenced_update('refused_a', '{"id": 2}', '{"v": "x"}', :old) AS no_row;
SELECT sum(count) FROM gatepost.refusals;

-- newest state, whatever the reader's snapshot, and its own counts too
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 AS snapshot_taken FROM pg_class;
SELECT pg_temp.write('refused_b', :old);
SELECT * FROM pg_temp.counted;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pg_temp.write('refused_b', :old);
SELECT * FROM pg_temp.counted;
COMMIT;

-- rewritten under the session
VACUUM FULL gatepost.refusal_counters;
VACUUM FREEZE gatepost.refusal_counters;
SELECT pg_temp.write('refused_a', :old);
SELECT * FROM pg_temp.counted;
-- in a transaction that rewrites it the count waits for the end of the transaction, which may be a rollback
BEGIN;
ALTER TABLE gatepost.refusal_counters ALTER COLUMN count TYPE int8 USING count + 0;
SELECT pg_temp.write('refused_a', :old);
ROLLBACK;
SELECT * FROM pg_temp.counted;

-- whatever keeps it from being counted, the error is the refusal's; it is counted when it can be
BEGIN;
ALTER TABLE gatepost.refusal_counters ADD more int;
SELECT pg_temp.write('refused_a', :old), pg_temp.write('refused_b', :old);
SELECT pg_temp.ask('SELECT count(*) FROM gatepost.refusals');
ROLLBACK;
SELECT * FROM pg_temp.counted;
BEGIN;
CREATE INDEX ON gatepost.refusal_counters (count);
SELECT pg_temp.write('refused_a', :old);
SELECT pg_temp.ask('SELECT count(*) FROM gatepost.refusals');
ROLLBACK;
SELECT pg_temp.write('refused_a', :old);
SELECT * FROM pg_temp.counted;
BEGIN;
ALTER TABLE gatepost.refusal_counters RENAME TO refusal_counters_gone;
SELECT pg_temp.write('refused_a', :old);
ROLLBACK;
SELECT * FROM pg_temp.counted;
SELECT pg_temp.locks_left();

-- nobody writes the tables by statements
SELECT c || ' => ' || left(pg_temp.try(c), 5) FROM unnest(ARRAY['refusal_counters', 'refusal_history', 'lease_history']) AS t,
  unnest(ARRAY['INSERT INTO gatepost.%1$I SELECT * FROM gatepost.%1$I LIMIT 1', 'DELETE FROM gatepost.%I', 'TRUNCATE gatepost.%I']) AS f,
  format(f, t) AS c;
SELECT left(pg_temp.try('UPDATE gatepost.refusal_counters SET count = 0'), 5);

-- a table that is gone is known by its number
DROP TABLE refused_b;
SELECT relation::text ~ '^[0-9]+$' AS number, count FROM gatepost.refusals ORDER BY number;

-- administrators count from 0 again, and no rollback brings the counts back
CREATE ROLE regress_gatepost_counts;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_counts;
SET ROLE regress_gatepost_counts;
SELECT left(pg_temp.ask('SELECT gatepost.refusals_reset()'), 5), left(pg_temp.ask('SELECT count(*) FROM gatepost.refusals'), 5);
RESET ROLE;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_counts;
GRANT SELECT ON gatepost.refusals TO regress_gatepost_counts;
SET ROLE regress_gatepost_counts;
SELECT left(pg_temp.ask('SELECT gatepost.refusals_reset()'), 5), left(pg_temp.ask('SELECT count(*) FROM gatepost.refusals'), 5);
RESET ROLE;
GRANT UPDATE ON gatepost.lease_slots TO regress_gatepost_counts;
SET ROLE regress_gatepost_counts;
BEGIN READ ONLY;
SELECT left(pg_temp.ask('SELECT gatepost.refusals_reset()'), 5);
ROLLBACK;
BEGIN;
SELECT gatepost.refusals_reset();
ROLLBACK;
RESET ROLE;
SELECT * FROM pg_temp.counted;
SELECT gatepost.refusals_reset();
SELECT pg_temp.write('refused_a', :old);
SELECT * FROM pg_temp.counted;

SELECT gatepost.refusals_reset();
DROP OWNED BY regress_gatepost_counts;
DROP ROLE regress_gatepost_counts;
DROP TABLE refused_a;
