-- The wall clock steps: no deadline moves, no token falls, and a clock that is years ahead is not believed.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
CREATE FUNCTION pg_temp.set_clock(file text, value text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('COPY (SELECT %L) TO %L', value, current_setting('data_directory') || '/gatepost_test_' || file);
END $$;
CREATE FUNCTION pg_temp.at(seconds numeric) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('boottime', trunc(seconds * 1000000)::text) $$;
CREATE FUNCTION pg_temp.wall(t timestamptz) RETURNS void LANGUAGE sql AS $$ SELECT pg_temp.set_clock('wallclock', trunc(extract(epoch FROM t) * 1000000)::text) $$;
CREATE FUNCTION pg_temp.hours(t timestamptz) RETURNS int LANGUAGE sql AS $$ SELECT floor(extract(epoch FROM t - timestamptz '2026-01-01 00:00+00') / 3600)::int $$;
CREATE FUNCTION pg_temp.state(name text) RETURNS TABLE (state text, remaining interval, ttl interval) LANGUAGE sql
AS $$ SELECT state, remaining, ttl FROM gatepost.leases AS l WHERE l.name = $1 $$;
SET intervalstyle = postgres;
SET TimeZone = 'UTC';

-- generations of this test lie above whatever the tests before have raised
SELECT pg_temp.at(1000), pg_temp.set_clock('boot_id', 'clock_wall first') \g /dev/null
SELECT greatest(gatepost.token_raise_generation(), pg_temp.hours(clock_timestamp())) AS g0 \gset
SELECT timestamptz '2026-01-01 00:00+00' + (:g0 + 100) * interval '1 hour' + interval '15 min' AS start \gset
SELECT pg_temp.wall(:'start') \g /dev/null

-- within a year of everything else the clock is believed: the generation is the hours since 2026
SELECT gatepost.token_raise_generation() - :g0 AS hours_ahead;
SELECT gatepost.lease_acquire('wall/a', '60 s') AS a \gset
-- a quarter past: the counter starts at a quarter of its range
SELECT ((:a >> 5) & (1 << 29) - 1) / (1 << 27) AS quarter;
SELECT * FROM pg_temp.state('wall/a');

-- an hour, a year, a century ahead; and back before all of it: the lease has its minute
SELECT pg_temp.wall(timestamptz :'start' + interval '1 hour') \g /dev/null
SELECT * FROM pg_temp.state('wall/a');
SELECT pg_temp.wall(timestamptz :'start' + interval '100 years') \g /dev/null
SELECT * FROM pg_temp.state('wall/a');
SELECT gatepost.lease_acquire('wall/a', '60 s') AS held, gatepost.lease_renew('wall/a', :a);
SELECT pg_temp.wall(timestamptz '1999-12-31 23:59:59+00') \g /dev/null
SELECT * FROM pg_temp.state('wall/a');
SELECT gatepost.lease_acquire('wall/a', '60 s') AS held;
SELECT pg_temp.at(1059.999999) \g /dev/null
SELECT gatepost.lease_status('wall/a', :a);
SELECT pg_temp.at(1060) \g /dev/null
SELECT gatepost.lease_status('wall/a', :a);
SELECT gatepost.lease_acquire('wall/a', '60 s') AS a2 \gset
SELECT :a2 > :a AS larger;

-- raised while the clock is behind: by one, and tokens rise
SELECT gatepost.token_generation() AS g1 \gset
SELECT gatepost.token_raise_generation() - :g1 AS step;
SELECT gatepost.token_draw() > :a2 AS larger;
-- raised while it is a century, or two years, ahead: not believed
SELECT pg_temp.wall(timestamptz :'start' + interval '100 years') \g /dev/null
SELECT gatepost.token_raise_generation() - :g1 AS step;
SELECT pg_temp.wall(timestamptz :'start' + interval '2 years') \g /dev/null
SELECT gatepost.token_raise_generation() - :g1 AS step;
-- believed ahead, then set right again, then a reboot under a clock that is behind
SELECT pg_temp.wall(timestamptz :'start' + interval '100 hours') \g /dev/null
SELECT gatepost.token_raise_generation() - :g0 AS hours_ahead;
SELECT gatepost.token_draw() AS ahead \gset
SELECT pg_temp.wall(:'start') \g /dev/null
SELECT gatepost.token_raise_generation() - :g0 AS hours_ahead;
SELECT gatepost.token_draw() AS behind \gset
SELECT pg_temp.wall(timestamptz '1999-12-31 23:59:59+00'), pg_temp.at(5), pg_temp.set_clock('boot_id', 'clock_wall second') \g /dev/null
SELECT gatepost.lease_acquire('wall/b', '60 s') AS b \gset
SELECT gatepost.token_generation() - :g0 AS hours_ahead, :behind > :ahead AND :b > :behind AS larger;

-- dropped and created again within the second and an hour later: tokens go on rising
SELECT pg_temp.wall(timestamptz :'start' + interval '200 hours') \g /dev/null
SELECT gatepost.token_raise_generation() - :g0 AS hours_ahead;
SELECT gatepost.token_draw() AS before_drop \gset
SELECT pg_temp.wall(timestamptz :'start' + interval '200 hours 1 s') \g /dev/null
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.token_draw() AS same_hour \gset
SELECT :same_hour > :before_drop AS larger, gatepost.token_generation() - :g0 AS hours_ahead;
SELECT pg_temp.wall(timestamptz :'start' + interval '201 hours') \g /dev/null
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.token_draw() > :same_hour AS larger, gatepost.token_generation() - :g0 AS hours_ahead;

-- ten months ahead is still believed
SELECT pg_temp.wall(timestamptz :'start' + interval '300 days') \g /dev/null
SELECT gatepost.token_raise_generation() - :g0 - 100 = 300 * 24 AS believed;

COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm -f gatepost_test_boottime gatepost_test_boot_id gatepost_test_wallclock';
-- on the real clock a fresh extension starts at the real hour
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.token_draw() > 0 AS drawn;
SELECT abs(gatepost.token_generation() - pg_temp.hours(clock_timestamp())) <= 1 AS real_hour;
