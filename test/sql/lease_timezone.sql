-- Time zones, date styles and the database's own zone move no deadline.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TEMP TABLE zones (place text, expires_epoch numeric, remaining interval, state text);

SET TimeZone = 'Asia/Tokyo';
SELECT gatepost.lease_acquire('zone', '10 min') AS t1 \gset
INSERT INTO zones SELECT 'Tokyo', extract(epoch FROM expires_at), remaining, state FROM gatepost.leases WHERE name = 'zone';
SET TimeZone = 'America/Los_Angeles';
SELECT gatepost.lease_acquire('zone', '10 min') AS held;
INSERT INTO zones SELECT 'Los Angeles', extract(epoch FROM expires_at), remaining, state FROM gatepost.leases WHERE name = 'zone';
SET TimeZone = 'Pacific/Kiritimati';
SET datestyle = 'SQL, DMY';
SELECT gatepost.lease_acquire('zone', '10 min') AS held;
INSERT INTO zones SELECT 'Kiritimati', extract(epoch FROM expires_at), remaining, state FROM gatepost.leases WHERE name = 'zone';
SET TimeZone = '<-12>+12';
SET intervalstyle = iso_8601;
SELECT gatepost.lease_acquire('zone', '10 min') AS held;
INSERT INTO zones SELECT 'west of all', extract(epoch FROM expires_at), remaining, state FROM gatepost.leases WHERE name = 'zone';

-- one instant, about ten minutes away, seen from everywhere
SELECT count(*), count(DISTINCT expires_epoch) AS instants, bool_and(remaining BETWEEN '1 min' AND '10 min') AS remaining,
       bool_and(state = 'held') AS held
FROM zones;

-- renewed in one zone, lapsed in the other
SELECT gatepost.lease_renew('zone', :t1, '50 ms');
SET TimeZone = 'Asia/Tokyo';
SELECT pg_temp.wait_until('gatepost.lease_status(''zone'', $1) = ''lapsed''', :t1);
SELECT gatepost.lease_acquire('zone', '10 min') AS t2 \gset
SELECT :t2 > :t1 AS larger;
SELECT gatepost.lease_renew('zone', :t2, '50 ms');
SET TimeZone = 'America/Los_Angeles';
SELECT pg_temp.wait_until('gatepost.lease_status(''zone'', $1) = ''lapsed''', :t2);
SELECT gatepost.lease_acquire('zone', '10 min') AS t3 \gset
SELECT :t3 > :t2 AS larger;

-- the zone of the database changes between sessions
SELECT format('ALTER DATABASE %I SET TimeZone = ''Asia/Kathmandu''', current_database()) AS change,
       format('ALTER DATABASE %I RESET TimeZone', current_database()) AS back,
       (SELECT extract(epoch FROM expires_at) FROM gatepost.leases WHERE name = 'zone') AS epoch \gset
\set ECHO none
:change;
\set ECHO all
\c -
SELECT extract(epoch FROM expires_at) = :epoch AS same, remaining BETWEEN '1 min' AND '10 min' AS remaining,
       gatepost.lease_acquire('zone', '10 min') AS held
FROM gatepost.leases WHERE name = 'zone';
\set ECHO none
:back;
\set ECHO all
SELECT gatepost.lease_release('zone', :t3), gatepost.lease_purge('0', 'zone');
