-- lease_renew_many and lease_release_many tell whoever has no permit of a semaphore what an absent name would tell.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_gatepost_stranger;
CREATE ROLE regress_gatepost_stranger;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_stranger;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_stranger;
SELECT gatepost.semaphore_acquire('strange', 2, '1 h') AS a, gatepost.token_draw() AS drawn, gatepost.semaphore_acquire('strange', 2, '1 h') AS b \gset
SELECT detail FROM gatepost.lease_renew_many('{strange}', ARRAY[:drawn]);
SET ROLE regress_gatepost_stranger;
SELECT detail FROM gatepost.lease_renew_many('{strange}', ARRAY[:drawn]);
SELECT detail FROM gatepost.lease_release_many('{strange}', ARRAY[:drawn]);
SELECT detail FROM gatepost.lease_release_many('{strange}', ARRAY[:a]);
SELECT detail FROM gatepost.lease_renew_many('{nowhere}', ARRAY[:drawn]);
RESET ROLE;
-- and the holder what has become of it
SELECT gatepost.lease_release('strange', :a), gatepost.semaphore_acquire('strange', 2, '1 h') > :b;
SELECT detail FROM gatepost.lease_renew_many('{strange}', ARRAY[:a]);
SELECT gatepost.lease_break('strange') > 0, gatepost.lease_purge('0', 'strange');
DROP OWNED BY regress_gatepost_stranger;
DROP ROLE regress_gatepost_stranger;
SELECT pg_temp.locks_left();
\set ECHO none
