-- How long: fractions of a second, days of 24 hours, the cap, and deadlines counted from the grant.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
SET intervalstyle = postgres;

-- nothing is rounded, least of all down to zero
SELECT ttl, pg_temp.ask(format('SELECT gatepost.lease_acquire(%L, %L) > 0', 'ttl/' || ttl, ttl)) AS granted
FROM (VALUES ('0.4 s'), ('1500 microseconds'), ('0.9999 s'), ('1 microsecond'), ('1 day'), ('24 hours'),
             ('2 days -24:00:01'), ('86399.999999 s')) AS v(ttl);
SELECT name, extract(epoch FROM ttl) AS seconds, expires_at - renewed_at = extract(epoch FROM ttl) * interval '1 second' AS exact
FROM gatepost.leases WHERE name LIKE 'ttl/%' ORDER BY name COLLATE "C";

-- they lapse by themselves
SELECT pg_temp.wait_until($$NOT EXISTS (SELECT FROM gatepost.leases WHERE name = 'ttl/1500 microseconds' AND state <> 'lapsed')$$),
       pg_temp.wait_until($$NOT EXISTS (SELECT FROM gatepost.leases WHERE name = 'ttl/0.4 s' AND state <> 'lapsed')$$);

-- a lease of a few milliseconds over and over: each grant begins at or after the end of the one before
CREATE TEMP TABLE grants (token bigint, granted_at timestamptz, expires_at timestamptz);
DO $$
DECLARE
  t bigint;
BEGIN
  WHILE (SELECT count(*) FROM grants) < 25 AND clock_timestamp() < now() + interval '20 s' LOOP
    t := gatepost.lease_acquire('ttl/short', '2 ms');
    IF t IS NOT NULL THEN
      INSERT INTO grants SELECT token, acquired_at, expires_at FROM gatepost.leases WHERE name = 'ttl/short';
    END IF;
  END LOOP;
END $$;
SELECT count(*) AS grants, count(DISTINCT token) AS tokens, bool_and(expires_at - granted_at = '2 ms') AS exact FROM grants;
SELECT count(*) AS fallen FROM (SELECT token, lag(token) OVER (ORDER BY granted_at) AS earlier FROM grants) g WHERE token <= earlier;

-- a day is 24 hours, also on the days that clocks are changed
SET TimeZone = 'Europe/Berlin';
SELECT gatepost.lease_renew('ttl/1 day', token, '1 day') FROM gatepost.leases WHERE name = 'ttl/1 day';
SELECT extract(epoch FROM expires_at - renewed_at) AS seconds FROM gatepost.leases WHERE name = 'ttl/1 day';
RESET TimeZone;

-- counted from the grant, not from the start of the transaction or statement
BEGIN;
SELECT pg_temp.wait_until('clock_timestamp() > now() + interval ''100 ms''');
SELECT clock_timestamp() AS start \gset
SELECT gatepost.lease_acquire('ttl/late', '10 min') AS late \gset
SELECT acquired_at >= :'start' AS after_start, acquired_at <= clock_timestamp() AS not_later,
       acquired_at > now() + interval '100 ms' AS after_now, expires_at = acquired_at + interval '10 min' AS whole_ttl,
       remaining > expires_at - clock_timestamp() - interval '1 ms' AS whole_remains
FROM gatepost.leases WHERE name = 'ttl/late';
SELECT pg_temp.wait_until('clock_timestamp() > now() + interval ''200 ms''');
SELECT gatepost.lease_renew('ttl/late', :late);
SELECT renewed_at > now() + interval '200 ms' AS after_now, expires_at = renewed_at + interval '10 min' AS whole_ttl
FROM gatepost.leases WHERE name = 'ttl/late';
COMMIT;
-- and so inside one statement that takes a while
SELECT gatepost.lease_acquire('ttl/statement', '10 min') > 0 AS granted
FROM (SELECT pg_temp.wait_until('clock_timestamp() > statement_timestamp() + interval ''100 ms''') OFFSET 0) AS s;
SELECT count(*) FROM gatepost.leases WHERE name = 'ttl/statement' AND expires_at = acquired_at + interval '10 min';

-- a refused renewal changes nothing
SELECT expires_at AS deadline FROM gatepost.leases WHERE name = 'ttl/late' \gset
SELECT ttl, pg_temp.ask(format('SELECT gatepost.lease_renew(''ttl/late'', $1, %L)', ttl), :late)
FROM (VALUES ('0'), ('-1 s'), ('1 mon'), ('25 hours')) AS v(ttl);
SELECT expires_at = :'deadline' AS unchanged, gatepost.lease_acquire('ttl/late', '1 s') AS held
FROM gatepost.leases WHERE name = 'ttl/late';

-- the cap, for grants and renewals, is an administrator's
SHOW gatepost.max_ttl;
SET gatepost.max_ttl = '1h';
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''ttl/capped'', ''3600.000001 s'')'), 5);
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''ttl/capped'', ''1 hour'') > 0');
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''ttl/late'', $1, ''3600.000001 s'')', :late), 5);
RESET gatepost.max_ttl;
CREATE ROLE regress_gatepost_ttl;
SET ROLE regress_gatepost_ttl;
SELECT pg_temp.try('SET gatepost.max_ttl = ''2d''');
RESET ROLE;
DROP ROLE regress_gatepost_ttl;
SELECT left(pg_temp.try('SET gatepost.max_ttl = ''0'''), 5), left(pg_temp.try('SET gatepost.max_ttl = ''-1'''), 5);

SELECT count(gatepost.lease_break(name)) > 0 AS broken FROM gatepost.leases WHERE name LIKE 'ttl/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'ttl/') > 0 AS purged;
