-- A name that stays closed for a while after its lease has lapsed, to the microsecond, on a boot clock that this test sets.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
-- seconds since boot
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;
SELECT pg_temp.at(1000), pg_temp.set_clock('boot_id', 'closed_first') \g /dev/null
SELECT gatepost.token_draw() > 0 AS ready;
SHOW gatepost.closed_after_lapse;
SET gatepost.closed_after_lapse = '5 s';

-- granted at 1000 s for 10 s, closed until 1015 s
SELECT gatepost.lease_acquire('closed/a', '10 s') AS a \gset
SELECT pg_temp.at(1010) \g /dev/null
-- for its holder it is over
SELECT gatepost.lease_status('closed/a', :a), gatepost.lease_renew('closed/a', :a), gatepost.lease_release('closed/a', :a);
-- closed to everybody, the last holder too
SELECT gatepost.lease_acquire('closed/a', '10 s') AS busy, gatepost.lease_acquire_all('{closed/b,closed/a}', '10 s') AS all_busy,
  gatepost.try_advisory_xact_lock('closed/a') AS locked, gatepost.try_advisory_xact_lock('closed/a', shared => true) AS shared;
-- a write of the last holder, which is what it is for, is no worse than before
BEGIN;
SELECT gatepost.fence_use('closed/a', :a);
COMMIT;
-- no purge opens it
SELECT gatepost.lease_purge('0', 'closed/');
SELECT pg_temp.at(1014.999999) \g /dev/null
SELECT gatepost.lease_acquire('closed/a', '10 s') AS busy, gatepost.try_advisory_xact_lock('closed/a') AS locked, gatepost.lease_purge('0', 'closed/');
SELECT pg_temp.at(1015) \g /dev/null
BEGIN;
SELECT gatepost.try_advisory_xact_lock('closed/a') AS locked;
ROLLBACK;
-- the lock has superseded it: that name is open
SELECT gatepost.lease_status('closed/a', :a);
SELECT gatepost.lease_acquire('closed/a', '10 s') > :a AS granted;

-- never after a release, nor after a break
SELECT gatepost.lease_release(name, token) FROM gatepost.leases WHERE name = 'closed/a';
SELECT gatepost.lease_acquire('closed/a', '10 s') > :a AS after_release;
SELECT gatepost.lease_break('closed/a') > :a AS broken;
SELECT gatepost.lease_acquire('closed/a', '10 s') > :a AS after_break;

-- it is the setting of the one who asks, and no more than max_ttl counts
SELECT pg_temp.at(1030) \g /dev/null
SET gatepost.closed_after_lapse = '10 s';
SELECT gatepost.lease_acquire('closed/a', '10 s') AS busy;
SET gatepost.max_ttl = '5 s';
SELECT gatepost.lease_acquire('closed/a', '5 s') > :a AS granted;
RESET gatepost.max_ttl;
SET gatepost.closed_after_lapse = 0;
SELECT pg_temp.at(1035) \g /dev/null
SELECT gatepost.lease_acquire('closed/a', '10 s') > :a AS granted;
SET gatepost.closed_after_lapse = '5 s';

-- a wait lasts until it opens: the clock stands, so it ends without
SELECT pg_temp.at(1045) \g /dev/null
SELECT gatepost.lease_acquire('closed/a', '10 s', '10 ms') AS busy;
SELECT pg_temp.at(1050) \g /dev/null
SELECT gatepost.lease_acquire('closed/a', '10 s', '10 ms') > :a AS granted;

-- recovering: its ttl counts from the new boot, then it is closed
SELECT gatepost.lease_acquire('closed/r', '10 s') AS r \gset
SELECT pg_temp.at(20), pg_temp.set_clock('boot_id', 'closed_second') \g /dev/null
SELECT gatepost.token_draw() > 0 AS ready;
SELECT gatepost.lease_status('closed/r', :r), gatepost.lease_acquire('closed/r', '10 s') AS busy;
SELECT pg_temp.at(30) \g /dev/null
SELECT gatepost.lease_status('closed/r', :r), gatepost.lease_acquire('closed/r', '10 s') AS busy, gatepost.try_advisory_xact_lock('closed/r') AS locked;
SELECT pg_temp.at(34.999999) \g /dev/null
SELECT gatepost.lease_acquire('closed/r', '10 s') AS busy;
SELECT pg_temp.at(35) \g /dev/null
SELECT gatepost.lease_acquire('closed/r', '10 s') > :r AS granted;

-- a permit stays closed with its weight, and the others are free
SELECT gatepost.semaphore_acquire('closed/s', 3, '10 s', weight => 2) AS s \gset
SELECT pg_temp.at(45) \g /dev/null
SELECT gatepost.lease_status('closed/s', :s), gatepost.semaphore_acquire('closed/s', 3, '10 s', weight => 2) AS busy,
  gatepost.try_advisory_xact_lock('closed/s') AS locked, gatepost.lease_purge('0', 'closed/s') AS purged;
SELECT gatepost.semaphore_acquire('closed/s', 3, '1 h') > :s AS other, gatepost.semaphore_acquire('closed/s', 3, '10 s') AS busy;
SELECT live, free FROM gatepost.semaphores WHERE name = 'closed/s';
SELECT pg_temp.at(49.999999) \g /dev/null
SELECT gatepost.semaphore_acquire('closed/s', 3, '10 s') AS busy;
SELECT pg_temp.at(50) \g /dev/null
SELECT gatepost.semaphore_acquire('closed/s', 3, '10 s', weight => 2) > :s AS granted;

-- who may set it
CREATE ROLE closed_user;
SET ROLE closed_user;
SET gatepost.closed_after_lapse = 0;
RESET ROLE;
DROP ROLE closed_user;
\set VERBOSITY sqlstate
SET gatepost.closed_after_lapse = -1;
\set VERBOSITY default

SET gatepost.closed_after_lapse = 0;
SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'closed/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'closed/');
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id';
SELECT gatepost.token_draw() > 0 AS on_the_real_clock;
