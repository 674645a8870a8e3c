-- Locks of the session: counted, in both modes beside each other, shown by name, and gone when core gives them away.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
CREATE VIEW pg_temp.mine AS SELECT name, mode, scope FROM gatepost.advisory_locks WHERE pid = pg_backend_pid() ORDER BY name, mode, scope;
\set unlock_a 'SELECT gatepost.advisory_unlock(''session/a'')'
\set unlock_a_shared 'SELECT gatepost.advisory_unlock(''session/a'', true)'

-- as often unlocked as locked
SELECT count(gatepost.advisory_lock('session/a')) AS locked FROM generate_series(1, 5000);
SELECT count(*) FILTER (WHERE gatepost.try_advisory_lock('session/a')) AS locked FROM generate_series(1, 5000);
SELECT * FROM pg_temp.mine;
SELECT count(gatepost.advisory_unlock('session/a')) AS unlocked FROM generate_series(1, 9999);
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('session/a');
SELECT * FROM pg_temp.mine;
SELECT pg_temp.try(:'unlock_a'), pg_temp.locks_left();
-- once too often in the middle of a statement: the statement fails, what it had unlocked stays unlocked, as in core
SELECT count(gatepost.advisory_lock('session/a')) AS locked FROM generate_series(1, 3);
SELECT count(gatepost.advisory_unlock('session/a')) FROM generate_series(1, 4);
SELECT pg_temp.locks_left();

-- locked thousands of times by one transaction
BEGIN;
SELECT count(gatepost.advisory_xact_lock('session/a')) AS locked FROM generate_series(1, 10000);
SELECT count(*) FILTER (WHERE gatepost.try_advisory_xact_lock('session/' || n % 7, shared => n % 2 = 0)) AS locked FROM generate_series(1, 10000) AS n;
SELECT count(*), count(DISTINCT name) FROM pg_temp.mine;
COMMIT;
SELECT pg_temp.locks_left();

-- shared beside exclusive, counted apart
SELECT gatepost.advisory_lock('session/a', true), gatepost.advisory_lock('session/a', true), gatepost.advisory_lock('session/a');
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('session/a');
SELECT pg_temp.try(:'unlock_a');
SELECT gatepost.advisory_unlock('session/a', true);
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('session/a', true);
SELECT pg_temp.try(:'unlock_a_shared');
SELECT * FROM pg_temp.mine;

-- the session's and the transaction's beside each other: each by its own end
BEGIN;
SELECT gatepost.advisory_lock('session/a'), gatepost.advisory_xact_lock('session/a'), gatepost.advisory_xact_lock('session/b', true);
SELECT * FROM pg_temp.mine;
COMMIT;
SELECT * FROM pg_temp.mine;
BEGIN;
SELECT gatepost.advisory_xact_lock('session/a');
SELECT gatepost.advisory_unlock('session/a');
SELECT * FROM pg_temp.mine;
SELECT pg_temp.try(:'unlock_a');
COMMIT;
SELECT * FROM pg_temp.mine;

-- a rollback keeps the session's locks, as in core
BEGIN;
SELECT gatepost.advisory_lock('session/a');
SELECT 1 / 0;
ROLLBACK;
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('session/a');
-- and an unlock that is rolled back is done
SELECT gatepost.advisory_lock('session/a');
BEGIN;
SELECT gatepost.advisory_unlock('session/a');
ROLLBACK;
SELECT pg_temp.try(:'unlock_a'), pg_temp.locks_left();

-- core's own calls give them away; what we know of them must not outlive that
SELECT gatepost.advisory_lock('session/a'), gatepost.advisory_lock('session/a'), gatepost.advisory_lock('session/b', true);
SELECT pg_advisory_unlock_all();
SELECT * FROM pg_temp.mine;
SELECT pg_temp.try(:'unlock_a');
SELECT gatepost.lease_acquire('session/b', '10 min') IS NOT NULL AS granted;
SELECT gatepost.lease_break('session/b') IS NOT NULL AS broken;
-- locked once again it is locked once
SELECT gatepost.advisory_lock('session/a');
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('session/a');
SELECT pg_temp.try(:'unlock_a'), pg_temp.locks_left();
SELECT gatepost.advisory_lock('session/a'), gatepost.advisory_lock('session/c');
DISCARD ALL;
SELECT name, mode, scope FROM gatepost.advisory_locks;
SELECT gatepost.advisory_unlock('session/a');
SELECT gatepost.lease_acquire('session/a', '10 min') IS NOT NULL AS granted, gatepost.lease_acquire('session/c', '10 min') IS NOT NULL AS granted;
SELECT count(gatepost.lease_break(name)) FROM unnest(ARRAY['session/a', 'session/c']) AS name;
-- a lock of the transaction alone is no lock of the session that was given away: no unlock of it, and the climb is allowed
SELECT gatepost.advisory_lock('session/a');
SELECT pg_advisory_unlock_all();
BEGIN;
SELECT gatepost.advisory_xact_lock('session/a');
SELECT name, mode, scope FROM gatepost.advisory_locks;
SELECT gatepost.lease_acquire('session/a', '10 min') IS NOT NULL AS climbs;
COMMIT;
SELECT gatepost.lease_break('session/a') IS NOT NULL AS broken;
SELECT gatepost.advisory_lock('session/a');
SELECT pg_advisory_unlock_all();
BEGIN;
SELECT gatepost.advisory_xact_lock('session/a');
SELECT gatepost.advisory_unlock('session/a');
ROLLBACK;

-- RESET ALL, DEALLOCATE, CLOSE and DISCARD PLANS leave them alone
SELECT gatepost.advisory_lock('session/d');
RESET ALL;
DEALLOCATE ALL;
CLOSE ALL;
DISCARD PLANS;
DISCARD TEMP;
SELECT name, mode, scope FROM gatepost.advisory_locks;
-- what is shown is only what is a lock of this database and this class
SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2, 3), pg_advisory_xact_lock(gatepost.advisory_key('session/d'));
SELECT name, key = gatepost.advisory_key('session/d') AS key, mode, scope, pid = pg_backend_pid() AS mine FROM gatepost.advisory_locks;
-- a new session has none
\c
SELECT count(*) FROM gatepost.advisory_known();
SELECT gatepost.lease_purge('0', 'session/') AS purged;
