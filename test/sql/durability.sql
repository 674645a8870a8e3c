-- A level that cannot be had is refused at commit: nothing is granted or renewed.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire('durability/a', '10 min') AS a \gset
SELECT expires_at AS deadline FROM gatepost.leases WHERE name = 'durability/a' \gset

-- asked for by the session; this server has no standby
SET gatepost.durability = 'standby';
SELECT gatepost.lease_acquire('durability/b', '10 min') > 0 AS granted;
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_renew('durability/a', :a);
BEGIN;
SELECT gatepost.lease_acquire('durability/b', '10 min') > 0 AS granted;
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_break('durability/a') > 0 AS broken;
SELECT gatepost.lease_queue('durability/a', '6f1c3d3e-0000-4000-8000-000000000001', '1 min', '1 min') IS NOT NULL AS queued;
SELECT gatepost.lease_transfer('durability/a', :a, '6f1c3d3e-0000-4000-8000-000000000001') > 0 AS handed;
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_unqueue('durability/a', '6f1c3d3e-0000-4000-8000-000000000001') AS kept;
SELECT count(*) FROM gatepost.leases WHERE name = 'durability/b';
SELECT state, token = :a AS token, expires_at = :'deadline' AS deadline FROM gatepost.leases WHERE name = 'durability/a';
-- permits and their number
SELECT gatepost.semaphore_acquire('durability/permits', 2, '10 min') > 0 AS granted;
\echo :LAST_ERROR_SQLSTATE
RESET gatepost.durability;
SELECT gatepost.semaphore_acquire('durability/permits', 2, '10 min') AS permit \gset
SET gatepost.durability = 'standby';
SELECT gatepost.semaphore_resize('durability/permits', 3);
\echo :LAST_ERROR_SQLSTATE
SELECT permits, live FROM gatepost.semaphores WHERE name = 'durability/permits';
-- what grants nothing needs no standby: a refused try, a look, a fenced write, a transaction that rolls back
SELECT gatepost.lease_acquire('durability/a', '10 min') AS held, gatepost.lease_status('durability/a', :a);
BEGIN;
SELECT gatepost.lease_acquire('durability/b', '10 min') > 0 AS granted;
ROLLBACK;
-- a release costs waiting when it is lost, no more
SELECT gatepost.lease_release('durability/a', :a), gatepost.lease_release('durability/permits', :permit);

-- read when the transaction commits: neither lowered before the grant nor raised after it counts
BEGIN;
SET LOCAL gatepost.durability = 'local';
SELECT gatepost.lease_acquire('durability/a', '10 min') > 0 AS granted;
SET LOCAL gatepost.durability = 'standby';
COMMIT;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT gatepost.lease_acquire('durability/a', '10 min') > 0 AS granted;
SET LOCAL gatepost.durability = 'local';
COMMIT;
SELECT state FROM gatepost.leases WHERE name = 'durability/a';
RESET gatepost.durability;

-- the administrator's floor is not to be gone below, and not to be set by others
SET gatepost.durability_floor = 'standby';
SELECT gatepost.lease_acquire('durability/c', '10 min') > 0 AS granted;
SET gatepost.durability = 'local';
SELECT gatepost.lease_acquire('durability/c', '10 min') > 0 AS granted;
\echo :LAST_ERROR_SQLSTATE
RESET gatepost.durability_floor;
SELECT gatepost.lease_acquire('durability/c', '10 min') > 0 AS granted;
CREATE ROLE regress_gatepost_durability;
SET ROLE regress_gatepost_durability;
SELECT pg_temp.try('SET gatepost.durability_floor = ''local''');
SELECT pg_temp.try('SET gatepost.durability = ''standby''');
RESET ROLE;
RESET gatepost.durability;
DROP ROLE regress_gatepost_durability;

-- whatever synchronous_commit says, it is the session's again afterwards
SET synchronous_commit = off;
SELECT gatepost.lease_acquire('durability/d', '10 min') > 0 AS granted;
SHOW synchronous_commit;
BEGIN;
SET LOCAL synchronous_commit = off;
SELECT gatepost.lease_release('durability/d', token) FROM gatepost.leases WHERE name = 'durability/d';
COMMIT;
SHOW synchronous_commit;
SET synchronous_commit = remote_apply;
SELECT gatepost.lease_acquire('durability/d', '10 min') AS d \gset
SELECT gatepost.lease_release('durability/d', :d);
SHOW synchronous_commit;
RESET synchronous_commit;

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'durability/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'durability/') > 0 AS purged, pg_temp.locks_left();

-- a grant that was rolled back to a savepoint does not decide about the rest
CREATE TABLE durability_rest (a int);
SET gatepost.durability = standby;
BEGIN;
SAVEPOINT a;
SELECT gatepost.lease_acquire('durability/savepoint', '1 min') > 0 AS granted;
ROLLBACK TO a;
INSERT INTO durability_rest VALUES (1);
COMMIT;
DO $$
BEGIN
    BEGIN
        PERFORM gatepost.lease_acquire('durability/savepoint', '1 min');
        RAISE 'taken back';
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
    INSERT INTO durability_rest VALUES (2);
END $$;
SELECT count(*) FROM durability_rest;
-- one that was kept does
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
SELECT gatepost.lease_acquire('durability/savepoint', '1 min') > 0 AS granted;
RELEASE a;
INSERT INTO durability_rest VALUES (3);
COMMIT;
SELECT count(*) FROM durability_rest;
-- also when another savepoint at its place is rolled back to afterwards
BEGIN;
SAVEPOINT a;
SELECT gatepost.lease_acquire('durability/savepoint', '1 min') > 0 AS granted;
RELEASE a;
SAVEPOINT c;
INSERT INTO durability_rest VALUES (4);
ROLLBACK TO c;
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_purge('0', 'durability/savepoint') AS no_row;
RESET gatepost.durability;
DROP TABLE durability_rest;
