-- Deadlines to the microsecond, on a boot clock that this test sets.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
-- seconds since boot
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;
CREATE FUNCTION pg_temp.state(name text) RETURNS TABLE (state text, remaining interval, ttl interval) LANGUAGE sql
AS $$ SELECT state, remaining, ttl FROM gatepost.leases AS l WHERE l.name = $1 $$;
SET intervalstyle = postgres;
SELECT pg_temp.at(1000), pg_temp.set_clock('boot_id', 'clock_lapse') \g /dev/null
SELECT gatepost.token_draw() > 0 AS ready;

-- granted at 1000 s for 10 s
SELECT gatepost.lease_acquire('clock/a', '10 s') AS a \gset
SELECT * FROM pg_temp.state('clock/a');
SELECT pg_temp.at(1004.5) \g /dev/null
SELECT * FROM pg_temp.state('clock/a');
SELECT pg_temp.at(1009.999999) \g /dev/null
SELECT * FROM pg_temp.state('clock/a');
SELECT gatepost.lease_status('clock/a', :a), gatepost.lease_acquire('clock/a', '10 s') AS held;
-- renewed in the last microsecond, counted from then
SELECT gatepost.lease_renew('clock/a', :a);
SELECT * FROM pg_temp.state('clock/a');
SELECT pg_temp.at(1019.999998) \g /dev/null
SELECT gatepost.lease_status('clock/a', :a), gatepost.lease_acquire('clock/a', '10 s') AS held;
-- at its deadline it is over, for its holder and for others
SELECT pg_temp.at(1019.999999) \g /dev/null
SELECT gatepost.lease_status('clock/a', :a), gatepost.lease_renew('clock/a', :a), gatepost.lease_release('clock/a', :a);
SELECT pg_temp.at(1020) \g /dev/null
SELECT * FROM pg_temp.state('clock/a');
-- time does not bring it back, nor does a renewal, nor the next holder
SELECT gatepost.lease_renew('clock/a', :a, '1 day'), gatepost.lease_status('clock/a', :a);
SELECT gatepost.lease_acquire('clock/a', '3 s') AS a2 \gset
SELECT :a2 > :a AS larger;
SELECT * FROM pg_temp.state('clock/a');

-- own request id does not prolong
SELECT gatepost.lease_acquire('clock/b', '10 s', request_id => '6f1c3d3e-0000-4000-8000-000000000004') AS b \gset
SELECT pg_temp.at(1025) \g /dev/null
SELECT gatepost.lease_acquire('clock/b', '10 s', request_id => '6f1c3d3e-0000-4000-8000-000000000004') = :b AS same;
SELECT * FROM pg_temp.state('clock/b');
SELECT pg_temp.at(1030) \g /dev/null
SELECT gatepost.lease_acquire('clock/b', '10 s', request_id => '6f1c3d3e-0000-4000-8000-000000000004') > :b AS new_grant;

-- a contender with a shorter ttl judges by the holder's
SELECT gatepost.lease_acquire('clock/c', '30 s') AS c \gset
SELECT pg_temp.at(1050) \g /dev/null
SELECT gatepost.lease_acquire('clock/c', '1 s') AS held, gatepost.lease_renew('clock/c', :c, '60 s');
SELECT pg_temp.at(1109.999999) \g /dev/null
SELECT gatepost.lease_acquire('clock/c', '1 s') AS held;
SELECT pg_temp.at(1110) \g /dev/null
SELECT gatepost.lease_acquire('clock/c', '1 s') > :c AS granted;

-- a renewal may shorten
SELECT gatepost.lease_acquire('clock/d', '1 day') AS d \gset
SELECT gatepost.lease_renew('clock/d', :d, '1 microsecond');
SELECT * FROM pg_temp.state('clock/d');
SELECT pg_temp.at(1110.000001) \g /dev/null
SELECT gatepost.lease_status('clock/d', :d);

-- counted from the grant in a transaction, not from its start
BEGIN;
SELECT 1 AS begun;
SELECT pg_temp.at(1200) \g /dev/null
SELECT gatepost.lease_acquire('clock/e', '5 s') AS e \gset
SELECT * FROM pg_temp.state('clock/e');
SELECT pg_temp.at(1204) \g /dev/null
SELECT gatepost.lease_renew('clock/e', :e);
SELECT * FROM pg_temp.state('clock/e');
COMMIT;
SELECT pg_temp.at(1208.999999) \g /dev/null
SELECT gatepost.lease_acquire('clock/e', '5 s') AS held;
-- committed after its own end: over at once
SELECT pg_temp.at(1300) \g /dev/null
BEGIN;
SELECT gatepost.lease_acquire('clock/f', '5 s') AS f \gset
SELECT pg_temp.at(1306) \g /dev/null
COMMIT;
SELECT gatepost.lease_status('clock/f', :f), gatepost.lease_renew('clock/f', :f), gatepost.lease_acquire('clock/f', '5 s') > :f AS granted;

-- released and broken leases are kept for as long as lease_purge is told, counted from their end
SELECT gatepost.lease_acquire('clock/g', '1 day') AS g, gatepost.lease_acquire('clock/h', '10 s') AS h, gatepost.lease_acquire('clock/i', '1 day') AS i \gset
SELECT gatepost.lease_release('clock/g', :g), gatepost.lease_break('clock/i') > :i AS broken;
SELECT pg_temp.at(1365.999999) \g /dev/null
SELECT gatepost.lease_purge('60 s', 'clock/g'), gatepost.lease_purge('60 s', 'clock/i'), gatepost.lease_purge('60 s', 'clock/h');
SELECT pg_temp.at(1366) \g /dev/null
SELECT gatepost.lease_purge('60 s', 'clock/g'), gatepost.lease_purge('60 s', 'clock/i'), gatepost.lease_purge('60 s', 'clock/h');
SELECT pg_temp.at(1376) \g /dev/null
SELECT gatepost.lease_purge('60 s', 'clock/h');

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'clock/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'clock/');
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id';
SELECT gatepost.token_draw() > 0 AS on_the_real_clock;
