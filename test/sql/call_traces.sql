-- What a call leaves behind in its transaction and session: a refused one nothing, a granted one its row.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire('trace/a', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000005') AS a \gset
-- xid of the transaction, locks on our relations, advisory locks
CREATE FUNCTION pg_temp.traces(OUT xid boolean, OUT relation_locks bigint, OUT advisory_locks bigint) LANGUAGE sql AS $$
  SELECT pg_current_xact_id_if_assigned() IS NOT NULL,
         (SELECT count(*) FROM pg_locks JOIN pg_class AS c ON c.oid = relation
          WHERE pid = pg_backend_pid() AND relnamespace = 'gatepost'::regnamespace),
         pg_temp.locks_left()
$$;

-- refused, false, a look, or the same grant again: nothing
BEGIN;
SELECT gatepost.lease_acquire('trace/a', '10 min') AS busy;
SELECT * FROM pg_temp.traces();
SELECT gatepost.lease_acquire('trace/a', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000005') = :a AS same;
SELECT * FROM pg_temp.traces();
SELECT gatepost.lease_renew('trace/a', :a - 32), gatepost.lease_release('trace/a', :a - 32),
       gatepost.lease_renew('trace/none', :a), gatepost.lease_release('trace/none', :a);
SELECT * FROM pg_temp.traces();
SELECT gatepost.lease_status('trace/a', :a), gatepost.lease_status('trace/none', :a), gatepost.token_generation() > 0 AS generation;
SELECT * FROM pg_temp.traces();
SELECT gatepost.lease_break('trace/none'), gatepost.lease_break('trace/a', :a - 32), gatepost.lease_purge('0', 'trace/none');
SELECT * FROM pg_temp.traces();
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''trace/b'', ''-1 s'')');
SELECT * FROM pg_temp.traces();
COMMIT;
BEGIN;
SELECT count(*) FROM gatepost.leases WHERE name = 'trace/a';
SELECT xid, advisory_locks FROM pg_temp.traces();
COMMIT;
-- a grant: its xid; the mutex and the holder tag are let go before the call returns
BEGIN;
SELECT gatepost.lease_acquire('trace/b', '10 min') > :a AS granted;
SELECT xid, advisory_locks FROM pg_temp.traces();
COMMIT;
-- one that is rolled back in a savepoint
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_acquire('trace/c', '10 min') > :a AS granted;
ROLLBACK TO one;
SELECT xid, advisory_locks FROM pg_temp.traces();
COMMIT;

-- settings of the session are as they were, after an answer and after an error
SET lock_timeout = '123ms';
SET synchronous_commit = off;
SET search_path = pg_catalog;
SET statement_timeout = '1h';
SELECT gatepost.lease_renew('trace/a', :a), gatepost.lease_acquire('trace/a', '10 min') AS busy;
SELECT gatepost.lease_renew('trace/a', :a, '-1 s');
SELECT gatepost.token_raise_generation() > 0 AS raised;
SELECT current_setting('lock_timeout') AS lock_timeout, current_setting('synchronous_commit') AS synchronous_commit, current_setting('search_path') AS search_path,
       current_setting('statement_timeout') AS statement_timeout, current_user = session_user AS same_user;
BEGIN;
SET LOCAL lock_timeout = '456ms';
SELECT gatepost.lease_renew('trace/a', :a);
SHOW lock_timeout;
COMMIT;
SHOW lock_timeout;
RESET ALL;

-- no prepared statements, cursors or listeners either; DISCARD ALL takes nothing that a lease needs
SELECT (SELECT count(*) FROM pg_prepared_statements) AS statements, (SELECT count(*) FROM pg_cursors WHERE name <> '') AS cursors,
       (SELECT count(*) FROM pg_listening_channels()) AS channels;
DISCARD ALL;
SELECT gatepost.lease_status('trace/a', :a), gatepost.lease_renew('trace/a', :a), gatepost.lease_acquire('trace/a', '10 min') AS busy;
-- nor does the end of the session that took it
\c -
SELECT gatepost.lease_status('trace/a', :a), gatepost.lease_acquire('trace/a', '10 min') AS busy;
SELECT gatepost.lease_renew('trace/a', :a), gatepost.lease_release('trace/a', :a);

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'trace/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'trace/');

-- a purge that finds nothing keeps no lock, not on the toast table either
BEGIN;
SELECT gatepost.lease_purge('0', 'trace/none at all');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation::regclass::text LIKE '%toast%';
COMMIT;
