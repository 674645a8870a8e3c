-- What a lease says of itself: owner, metadata, client; who renews it does not change them.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- without an owner: application_name@client/pid
SET application_name = 'worker 7';
SELECT gatepost.lease_acquire('details/a', '10 min') AS a \gset
SELECT replace(owner, pg_backend_pid()::text, 'PID') AS owner, client_addr IS NOT DISTINCT FROM inet_client_addr() AS client_addr, metadata
FROM gatepost.leases WHERE name = 'details/a';
SET application_name = '';
SELECT gatepost.lease_acquire('details/b', '10 min') AS b \gset
SELECT replace(owner, pg_backend_pid()::text, 'PID') AS owner FROM gatepost.leases WHERE name = 'details/b';
-- a renewal by another application changes neither owner nor metadata
SET application_name = 'somebody else';
SELECT gatepost.lease_renew('details/a', :a);
SELECT replace(owner, pg_backend_pid()::text, 'PID') AS owner FROM gatepost.leases WHERE name = 'details/a';

-- given: kept as it is, up to 256 bytes; empty is empty
SELECT gatepost.lease_acquire('details/c', '10 min', owner => 'Jürgen ''"\ $1 🔑', metadata => '{"host": "a", "n": [1, {"x": null}], "ü": "🔑"}') AS c \gset
SELECT owner, metadata FROM gatepost.leases WHERE name = 'details/c';
SELECT gatepost.lease_acquire('details/d', '10 min', owner => '', metadata => '{}') AS d \gset
SELECT owner, metadata FROM gatepost.leases WHERE name = 'details/d';
SELECT gatepost.lease_acquire('details/e', '10 min', owner => repeat('🔑', 64)) > 0 AS granted,
       pg_temp.ask('SELECT gatepost.lease_acquire(''details/f'', ''10 min'', owner => repeat(''🔑'', 64) || ''x'')');

-- the next grant brings its own
SELECT gatepost.lease_release('details/c', :c);
SELECT owner, metadata, state FROM gatepost.leases WHERE name = 'details/c';
SELECT gatepost.lease_acquire('details/c', '10 min', owner => 'next') > :c AS granted;
SELECT owner, metadata, state FROM gatepost.leases WHERE name = 'details/c';

-- metadata up to 8192 bytes as it is stored; beyond what fits a page uncompressed it is still read back whole
SELECT gatepost.lease_acquire('details/g', '10 min', metadata => (SELECT jsonb_object_agg(n, md5(n::text)) FROM generate_series(1, 180) AS n)) AS g \gset
SELECT (SELECT count(*) FROM jsonb_object_keys(metadata)) AS keys, metadata ->> '180' = md5('180') AS whole FROM gatepost.leases WHERE name = 'details/g';
SELECT gatepost.lease_renew('details/g', :g), gatepost.lease_release('details/g', :g);
SELECT (SELECT count(*) FROM jsonb_object_keys(metadata)) AS keys FROM gatepost.leases WHERE name = 'details/g';
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''details/h'', ''10 min'', metadata => (SELECT jsonb_object_agg(n, md5(n::text)) FROM generate_series(1, 300) AS n))'), 5);

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'details/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'details/'), pg_temp.locks_left();
