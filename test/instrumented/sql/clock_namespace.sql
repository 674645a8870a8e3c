-- A time namespace moves the clock without a reboot: deadlines from another one mean nothing.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common

SELECT gatepost.lease_acquire('namespace/a', '10 min') AS a, gatepost.token_generation() AS generation \gset
SELECT gatepost.lease_status('namespace/a', :a);

-- the server runs in another one now: what a process has learned of its own stays with it, so a new one looks
COPY (SELECT unnest(ARRAY['monotonic 0 0', 'boottime 1000 0'])) TO PROGRAM 'cat >gatepost_test_timens_offsets';
\c -
SELECT gatepost.lease_status('namespace/a', :a), gatepost.lease_acquire('namespace/a', '10 min') AS held;
SELECT gatepost.token_generation() > :generation AS risen;
SELECT gatepost.lease_renew('namespace/a', :a), gatepost.lease_status('namespace/a', :a);

-- and back
COPY (SELECT) TO PROGRAM 'cat >/dev/null; rm gatepost_test_timens_offsets';
\c -
SELECT gatepost.lease_status('namespace/a', :a);
SELECT gatepost.lease_break('namespace/a') > :a AS broken;
SELECT gatepost.lease_purge('0', 'namespace/') AS purged;
