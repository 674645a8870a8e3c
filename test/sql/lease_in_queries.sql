-- Calls inside queries: how many rows they run for, parallel plans, prepared statements.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE query_jobs (name text);
INSERT INTO query_jobs SELECT 'jobs/' || lpad(n::text, 3, '0') FROM generate_series(1, 100) AS n;
ANALYZE query_jobs;
-- ends all leases of this test; how many were held
CREATE FUNCTION pg_temp.held() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  held bigint;
BEGIN
  SELECT count(gatepost.lease_break(name)) INTO held FROM gatepost.leases WHERE name LIKE 'jobs/%' AND state = 'held';
  PERFORM gatepost.lease_purge('0', 'jobs/');
  RETURN held;
END $$;

-- in the select list: LIMIT decides first, one lease is taken
SELECT gatepost.lease_acquire(name, '10 min') > 0 AS granted FROM query_jobs ORDER BY name LIMIT 1;
SELECT name FROM gatepost.leases WHERE name LIKE 'jobs/%';
SELECT pg_temp.held();

-- in WHERE it runs for every row that is looked at: one row comes out, a hundred leases are taken
SELECT name FROM query_jobs WHERE gatepost.lease_acquire(name, '10 min') IS NOT NULL ORDER BY name LIMIT 1;
SELECT pg_temp.held();

-- the safe form of it: choose first, then acquire
SELECT name, gatepost.lease_acquire(name, '10 min') > 0 AS granted
FROM (SELECT name FROM query_jobs ORDER BY name OFFSET 0 LIMIT 3) AS chosen;
SELECT pg_temp.held();

-- EXPLAIN runs nothing; a plain CTE that nobody reads neither
EXPLAIN (COSTS OFF) SELECT gatepost.lease_acquire('jobs/001', '10 min');
WITH unread AS (SELECT gatepost.lease_acquire('jobs/001', '10 min')) SELECT 1 AS one;
SELECT pg_temp.held();

-- a CTE that is read twice runs once
WITH taken AS (SELECT gatepost.lease_acquire('jobs/001', '10 min') AS token)
SELECT count(*) AS rows, count(DISTINCT token) AS tokens FROM (TABLE taken UNION ALL TABLE taken) AS twice;
SELECT pg_temp.held();

-- a cursor takes as many as are fetched
BEGIN;
DECLARE taking CURSOR FOR SELECT gatepost.lease_acquire(name, '10 min') > 0 AS granted FROM query_jobs;
FETCH 2 FROM taking;
CLOSE taking;
COMMIT;
SELECT pg_temp.held();

-- FROM, LATERAL, RETURNING, a column default, CASE, a trigger
SELECT t > 0 AS granted FROM gatepost.lease_acquire('jobs/001', '10 min') AS t;
SELECT count(t) AS granted FROM query_jobs, LATERAL gatepost.lease_acquire(name, '10 min') AS t;
CREATE TABLE query_runs (name text, token bigint DEFAULT gatepost.lease_acquire('jobs/run', '10 min'));
INSERT INTO query_runs VALUES ('a'), ('b');
SELECT name, token > 0 AS granted FROM query_runs ORDER BY name;
DELETE FROM query_runs WHERE token IS NOT NULL
RETURNING name, gatepost.lease_renew('jobs/run', token) AS renew, gatepost.lease_release('jobs/run', token) AS release;
SELECT CASE WHEN false THEN gatepost.lease_acquire('jobs/case', '10 min') END AS not_run;
CREATE FUNCTION query_acquire() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.token := gatepost.lease_acquire(NEW.name, '10 min');
  RETURN NEW;
END $$;
CREATE TRIGGER acquire BEFORE UPDATE ON query_runs FOR EACH ROW EXECUTE FUNCTION query_acquire();
UPDATE query_runs SET name = 'jobs/trigger' RETURNING token > 0 AS granted;
SELECT pg_temp.held();

-- prepared statements: the call runs at each execution, whatever the plan
PREPARE take AS SELECT gatepost.lease_acquire('jobs/prepared', '10 min') > 0 AS granted;
EXECUTE take;
EXECUTE take;
PREPARE look (bigint) AS SELECT gatepost.lease_status('jobs/prepared', $1);
SELECT token FROM gatepost.leases WHERE name = 'jobs/prepared' \gset
EXECUTE look(:token);
SELECT gatepost.lease_release('jobs/prepared', :token);
EXECUTE look(:token);
EXECUTE take;
SET plan_cache_mode = force_generic_plan;
EXECUTE take;
SELECT gatepost.lease_release('jobs/prepared', token) FROM gatepost.leases WHERE name = 'jobs/prepared';
EXECUTE take;
EXECUTE look(:token);
RESET plan_cache_mode;
DEALLOCATE take;
DEALLOCATE look;
SELECT pg_temp.held();

-- a forced parallel plan: the calls stay in the leader
SELECT count(set_config(name, 'on', false)) AS forced FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT gatepost.lease_acquire(name, '10 min') FROM query_jobs ORDER BY name LIMIT 1;
SELECT gatepost.lease_acquire(name, '10 min') > 0 AS granted FROM query_jobs ORDER BY name LIMIT 1;
SELECT count(*) FROM query_jobs WHERE gatepost.lease_acquire(name, '10 min') IS NOT NULL;
SELECT bool_and(gatepost.lease_status(name, token) = 'held') AS held, bool_and(gatepost.lease_renew(name, token)) AS renewed
FROM gatepost.leases WHERE name LIKE 'jobs/%';
SELECT count(*) FROM query_jobs JOIN gatepost.leases USING (name) WHERE state = 'held';
-- a wrapper that lies about itself is refused in the worker
CREATE FUNCTION query_lies(name text) RETURNS bigint PARALLEL SAFE LANGUAGE plpgsql
AS 'BEGIN RETURN gatepost.lease_acquire(name, ''10 min''); END';
SELECT query_lies('jobs/lies');
\echo :LAST_ERROR_SQLSTATE
-- so is one that takes a lock, which would be the worker's and gone with it
CREATE FUNCTION query_lies_of_lock(name text, call text) RETURNS text PARALLEL SAFE LANGUAGE plpgsql
AS 'DECLARE had text; BEGIN EXECUTE format(''SELECT gatepost.%s($1)'', call) INTO had USING name; RETURN had; END';
SELECT pg_temp.ask(format('SELECT query_lies_of_lock(''jobs/lies'', %L)', call))
FROM unnest(ARRAY['advisory_xact_lock', 'try_advisory_xact_lock', 'advisory_lock', 'try_advisory_lock', 'advisory_unlock']) AS call;
SELECT count(set_config(name, 'off', false)) AS off FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT query_lies('jobs/lies') > 0 AS granted;
SELECT pg_temp.held();

-- a statement over many names needs no lock table: nothing stays behind
BEGIN;
SELECT count(gatepost.lease_acquire(name, '10 min')) FROM query_jobs;
SELECT pg_temp.locks_left();
COMMIT;
SELECT pg_temp.held();

DROP TABLE query_jobs, query_runs;
DROP FUNCTION query_acquire, query_lies, query_lies_of_lock;
