-- An error after the tag was had and before the lapsed lease is marked: no lock is left, nothing is superseded, and the
-- same call works afterwards.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/../common.sql'
\i :common
\set ECHO none
-- the call fails at the point; then what is held, what is known, and what the lease is
CREATE FUNCTION pg_temp.fails(call text, OUT answer text, OUT held bigint, OUT known bigint, OUT status text) LANGUAGE plpgsql AS $$
DECLARE
  token bigint := gatepost.lease_acquire('fault', '1 ms');
BEGIN
  PERFORM pg_temp.wait_until('gatepost.lease_status(''fault'', $1) = ''lapsed''', token);
  PERFORM set_config('gatepost.test_fault', 'rung_taken', true);
  answer := pg_temp.try('SELECT gatepost.' || call);
  PERFORM set_config('gatepost.test_fault', '', true);
  SELECT pg_temp.locks_left(), (SELECT count(*) FROM gatepost.advisory_known()), gatepost.lease_status('fault', token)
  INTO held, known, status;
END $$;
\set ECHO all
SELECT call, f.* FROM unnest(ARRAY['advisory_xact_lock(''fault'')', 'advisory_xact_lock(''fault'', true)',
  'try_advisory_xact_lock(''fault'', ''1 s'')', 'try_advisory_xact_lock(''other'')', 'try_advisory_lock(''other'', shared => true)'])
  AS call, pg_temp.fails(call) AS f;
SELECT gatepost.lease_purge('0', 'fault');
-- the session's lock, whose own transaction must not have changed the lease
SELECT gatepost.lease_acquire('fault', '1 ms') AS fault \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''fault'', $1) = ''lapsed''', :fault);
SET gatepost.test_fault = 'rung_taken';
SELECT gatepost.advisory_lock('fault');
SELECT gatepost.try_advisory_lock('fault', '1 s', true);
BEGIN;
SAVEPOINT one;
SELECT gatepost.advisory_lock('fault');
ROLLBACK TO one;
SELECT pg_temp.locks_left();
COMMIT;
SELECT pg_temp.try('SELECT gatepost.advisory_unlock(''fault'')');
RESET gatepost.test_fault;
SELECT pg_temp.locks_left(), gatepost.lease_status('fault', :fault), count(*) AS known FROM gatepost.advisory_known();
-- an unknown lock is in nobody's way
SELECT gatepost.lease_acquire('other', '1 min') IS NOT NULL AS granted;
SELECT gatepost.advisory_lock('fault'), gatepost.lease_status('fault', :fault);
SELECT name, mode, scope FROM gatepost.advisory_locks;
SELECT gatepost.advisory_unlock('fault');
-- the same one again, as an additional one of a session that has it: the first stays
SELECT gatepost.advisory_lock('fault');
SET gatepost.test_fault = 'rung_taken';
SELECT gatepost.advisory_lock('fault');
RESET gatepost.test_fault;
SELECT name, mode, scope FROM gatepost.advisory_locks;
SELECT gatepost.advisory_unlock('fault');
SELECT pg_temp.try('SELECT gatepost.advisory_unlock(''fault'')'), pg_temp.locks_left();
SELECT gatepost.lease_break('other') IS NOT NULL AS broken, gatepost.lease_purge('0') > 0 AS purged;
