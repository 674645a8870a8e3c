-- What errors say of a permit: that it is one, unless the caller may not know of it.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ': '
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_gatepost_stranger;
CREATE ROLE regress_gatepost_stranger;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_stranger;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_stranger;
-- Error and detail of a call with a token, without the tokens.
CREATE FUNCTION pg_temp.told(call text, token bigint) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(pg_temp.try(call, token) || '. ' || coalesce(pg_temp.detail(call, token), ''), '\d{13,}', 'TOKEN', 'g') $$;
\set use 'SELECT gatepost.fence_use(''messages'', $1)'

SELECT gatepost.semaphore_acquire('messages', 4, '1 h') AS held, gatepost.semaphore_acquire('messages', 4, '1 h') AS released,
       gatepost.semaphore_acquire('messages', 4, '1 h') AS broken, gatepost.semaphore_acquire('messages', 4, '1 ms') AS lapsed \gset
SELECT gatepost.lease_release('messages', :released), gatepost.lease_break('messages', :broken) AS breaking \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''messages'', $1) = ''lapsed''', :lapsed);
SELECT 'released', pg_temp.told(:'use', :released);
SELECT 'broken', pg_temp.told(:'use', :broken);
SELECT 'the token of the break', pg_temp.told(:'use', :breaking);
SELECT 'lapsed', pg_temp.told('SELECT gatepost.fence_use(''messages'', $1, live => true)', :lapsed);
SELECT 'hands full', pg_temp.told('SELECT gatepost.semaphore_acquire(''messages'', 4, ''1 h'', wait => ''1 h'', weight => 4) FROM gatepost.advisory_xact_lock(''other'')', 1);

-- who has no permit
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_temp TO regress_gatepost_stranger;
SET ROLE regress_gatepost_stranger;
SELECT call, pg_temp.told('SELECT gatepost.' || call, :held) FROM unnest(ARRAY[
  'lease_renew(''messages'', $1)', 'semaphore_resize(''messages'', 5)', 'fence_use(''messages'', $1)', 'fence_use(''nowhere'', $1)']) AS call;
RESET ROLE;
SELECT gatepost.lease_break('messages') > 0, gatepost.lease_purge('0', 'messages') > 0;
DROP OWNED BY regress_gatepost_stranger;
DROP ROLE regress_gatepost_stranger;
