-- All leases or none.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire_all('{all/c,all/a,all/b}', '1 h', owner => 'one', metadata => '{"x": 1}') AS tokens \gset
-- the tokens in the order of the names
SELECT array_agg(token ORDER BY ordinality) = :'tokens' AS in_order FROM unnest('{all/c,all/a,all/b}'::text[]) WITH ORDINALITY AS u(name, ordinality) JOIN gatepost.leases USING (name);
SELECT name, state, owner, ttl, metadata FROM gatepost.leases WHERE name LIKE 'all/%' ORDER BY name;
-- one is busy: none is taken, wherever it stands; no xid
SELECT gatepost.lease_acquire_all('{all/a,all/d,all/e}', '1 h') AS busy;
SELECT gatepost.lease_acquire_all('{all/d,all/a,all/e}', '1 h') AS busy;
SELECT gatepost.lease_acquire_all('{all/d,all/e,all/a}', '1 h') AS busy, pg_current_xact_id_if_assigned();
SELECT count(*) FROM gatepost.leases WHERE name IN ('all/d', 'all/e');
-- a lock of another scope is in the way as it is of lease_acquire
SELECT gatepost.advisory_lock('all/rung');
SELECT gatepost.lease_acquire_all('{all/d,all/rung}', '1 h');
SELECT gatepost.advisory_unlock('all/rung');
SELECT count(*) FROM gatepost.leases WHERE name IN ('all/d', 'all/rung');
-- own names of the transaction
BEGIN;
SELECT gatepost.lease_acquire_all('{all/d,all/e}', '1 h') IS NOT NULL AS granted;
SELECT gatepost.lease_acquire_all('{all/e,all/f}', '1 h') AS busy;
SAVEPOINT s;
SELECT gatepost.lease_acquire_all('{all/f,all/g}', '1 h') IS NOT NULL AS granted;
ROLLBACK TO s;
SELECT name, state FROM gatepost.leases WHERE name IN ('all/d', 'all/e', 'all/f', 'all/g') ORDER BY name;
SELECT pg_temp.locks_left();
ROLLBACK;
SELECT count(*) FROM gatepost.leases WHERE name IN ('all/d', 'all/e', 'all/f', 'all/g');
-- an own grant ends the use of an earlier token
SELECT gatepost.lease_release('all/a', (:'tokens'::bigint[])[2]);
BEGIN;
SELECT gatepost.fence_use('all/b', (:'tokens'::bigint[])[3]);
SELECT gatepost.lease_release('all/b', (:'tokens'::bigint[])[3]);
SELECT gatepost.lease_acquire_all('{all/a,all/b}', '1 h') IS NOT NULL AS granted;
ROLLBACK;

-- the same request: the same tokens
SELECT gatepost.lease_acquire_all('{all/r1,all/r2}', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000aa01') AS first \gset
SELECT gatepost.lease_acquire_all('{all/r1,all/r2}', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000aa01') = :'first' AS same,
  gatepost.lease_acquire_all('{all/r2,all/r1}', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000aa01') = ARRAY[(:'first'::bigint[])[2], (:'first'::bigint[])[1]] AS in_order,
  gatepost.lease_acquire_all('{all/r1,all/r2}', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000aa02') AS another,
  gatepost.lease_acquire_all('{all/r1,all/r2}', '1 h') AS none;
-- each name answers as lease_acquire would: what is still held stays, what is free is taken
SELECT gatepost.lease_release('all/r1', (:'first'::bigint[])[1]);
SELECT gatepost.lease_acquire_all('{all/r1,all/r2}', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000aa01') AS again \gset
SELECT (:'again'::bigint[])[1] > (:'first'::bigint[])[1] AS new, (:'again'::bigint[])[2] = (:'first'::bigint[])[2] AS same;

-- one name that the rules keep from the caller
CREATE ROLE all_stranger;
GRANT USAGE ON SCHEMA gatepost TO all_stranger;
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire_all TO all_stranger;
SELECT gatepost.rule_add('all/x/ruled', 'pg_monitor', 'hold');
SET ROLE all_stranger;
SELECT gatepost.lease_acquire_all('{all/x1,all/x/ruled}', '1 h');
RESET ROLE;
SELECT gatepost.rule_drop('all/x/ruled', 'pg_monitor', 'hold');
DROP OWNED BY all_stranger;
DROP ROLE all_stranger;
CREATE FUNCTION pg_temp.taken() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM gatepost.leases WHERE name LIKE 'all/x%' AND state <> 'released' $$;

-- bad arguments
SELECT c || ' => ' || pg_temp.ask('SELECT gatepost.' || c) FROM unnest(ARRAY[
  $$lease_acquire_all(NULL, '1 h')$$,
  $$lease_acquire_all('{}', '1 h')$$,
  $$lease_acquire_all('{all/x,NULL}', '1 h')$$,
  $$lease_acquire_all('{all/x,""}', '1 h')$$,
  $$lease_acquire_all(ARRAY['all/x', repeat('x', 1025)], '1 h')$$,
  $$lease_acquire_all('{all/x,all/y,all/x}', '1 h')$$,
  $$lease_acquire_all('{{all/x,all/y}}', '1 h')$$,
  $$lease_acquire_all('{all/x}', NULL)$$,
  $$lease_acquire_all('{all/x}', '0')$$,
  $$lease_acquire_all('{all/x}', '1 mon')$$,
  $$lease_acquire_all('{all/x}', '1 h', NULL)$$,
  $$lease_acquire_all('{all/x}', '1 h', '-1 s')$$,
  $$lease_acquire_all('{all/x}', '1 h', owner => repeat('x', 257))$$,
  $$lease_acquire_all('{all/x}', '1 h', metadata => '1')$$,
  $$lease_acquire_all('{all/x}', '1 h', request_id => '00000000-0000-0000-0000-000000000000')$$,
  $$lease_acquire_all((SELECT array_agg('all/x' || n) FROM generate_series(1, 10001) AS n), '1 h')$$,
  $$lease_acquire_all((SELECT array_agg('all/x' || n) FROM generate_series(1, 100000) AS n), '1 h')$$]) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT pg_temp.taken(), pg_temp.locks_left();
BEGIN READ ONLY;
SELECT gatepost.lease_acquire_all('{all/x}', '1 h');
ROLLBACK;
-- 10,000 names
SELECT array_length(gatepost.lease_acquire_all(array_agg('all/x' || n), '1 h'), 1) FROM generate_series(1, 10000) AS n;
SELECT pg_temp.taken(), pg_temp.locks_left();

-- waiting is refused where lease_acquire refuses it
BEGIN;
SELECT gatepost.lease_acquire('all/full', '1 h') IS NOT NULL AS granted;
SELECT gatepost.lease_acquire_all('{all/d,all/c}', '1 h', '1 s');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT gatepost.lease_acquire_all('{all/d,all/c}', '1 h', '1 s');
ROLLBACK;
-- the time is over: none is taken, no place in a queue is left
SELECT gatepost.lease_acquire_all('{all/d,all/c,all/e}', '1 h', '10 ms');
SELECT count(*) FROM gatepost.leases WHERE name IN ('all/d', 'all/e');
SELECT pg_temp.locks_left();

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'all/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'all/') >= 10000 AS purged;
