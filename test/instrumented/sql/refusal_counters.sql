-- Refusals are counted for each table, name and reason, as long as there is room, in any transaction.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common

CREATE FUNCTION refuse(relation oid, name text, token bigint, current bigint, reason "char") RETURNS void
LANGUAGE c AS '$libdir/gatepost', 'gatepost_test_refuse';
CREATE FUNCTION pg_temp.refused(relation regclass, name text, reason "char") RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse(relation, name, 1, 2, reason);
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
CREATE VIEW pg_temp.counted AS
  SELECT relation, name, reason, count FROM gatepost.refusals ORDER BY relation::text COLLATE "C", name COLLATE "C", reason;
CREATE TABLE refused_a ();
CREATE TABLE refused_b ();
SELECT gatepost.refusals_reset() >= 0 AS reset;

SELECT pg_temp.refused(relation::regclass, name, reason::"char")
FROM (VALUES ('refused_a', 'nightly', 's'), ('refused_a', 'nightly', 's'), ('refused_b', 'nightly', 's'), ('refused_a', 'other', 's'),
             ('refused_a', 'nightly', 'h'), ('refused_a', NULL, 'r'), (NULL, 'nightly', 'u'), (NULL, NULL, 'o'),
             ('refused_a', 'nightly', 's')) AS v(relation, name, reason);
SELECT * FROM pg_temp.counted;

-- long names are cut between characters, and told apart all the same
SELECT gatepost.refusals_reset();
SELECT pg_temp.refused('refused_a', repeat('x', 62) || n, 's') FROM generate_series(1, 2) n, generate_series(1, n);
SELECT pg_temp.refused('refused_a', repeat('x', 100) || n, 's') FROM generate_series(1, 2) n, generate_series(1, n);
SELECT pg_temp.refused('refused_a', repeat('ä', 40), 's');
SELECT name, octet_length(name), count FROM gatepost.refusals ORDER BY octet_length(name), name COLLATE "C", count;

-- in a transaction that may write nothing, at any level, and without an xid
SELECT gatepost.refusals_reset();
BEGIN READ ONLY;
SELECT pg_temp.refused('refused_a', 'read only', 's');
SELECT * FROM pg_temp.counted;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT pg_temp.refused('refused_a', 'read only', 's');
SELECT * FROM pg_temp.counted;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.refused('refused_a', 'read only', 's');
SELECT * FROM pg_temp.counted;
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
ROLLBACK;

-- a row of the table locked by this session, or read by it in the same statement
BEGIN;
SELECT count(*) FROM (SELECT FROM gatepost.refusal_counters FOR UPDATE) AS locked;
SELECT pg_temp.refused('refused_a', 'read only', 's');
SELECT * FROM pg_temp.counted;
ROLLBACK;
SELECT pg_temp.refused('refused_a', 'read only', 's'), * FROM pg_temp.counted;

-- when no row is free, the rest is counted together; what has a row keeps it
SELECT gatepost.refusals_reset();
SELECT count(pg_temp.refused('refused_a', 'full/' || n, 's')) FROM generate_series(1, 1030) AS n;
SELECT pg_temp.refused('refused_a', 'full/1', 's'), pg_temp.refused('refused_a', 'full/1024', 's'), pg_temp.refused('refused_a', 'full/1025', 's');
SELECT count(*), sum(count) FROM gatepost.refusals;
SELECT * FROM pg_temp.counted WHERE reason = 'others' OR count > 1;
SELECT gatepost.refusals_reset();
SELECT pg_temp.refused('refused_a', 'full/1025', 's');
SELECT * FROM pg_temp.counted;
SELECT pg_temp.locks_left();

-- more kinds of refusals than a session remembers while the counters are out of reach
SELECT gatepost.refusals_reset();
BEGIN;
ALTER TABLE gatepost.refusal_counters ADD more int;
SELECT count(pg_temp.refused('refused_a', 'late/' || n, 's')) FROM generate_series(1, 20) AS n, generate_series(1, 2);
ROLLBACK;
SELECT count(*), sum(count) FROM gatepost.refusals;
SELECT * FROM pg_temp.counted WHERE name IS NULL;
SELECT gatepost.refusals_reset();

DROP FUNCTION refuse;
DROP TABLE refused_a, refused_b;
