-- One name on both rungs: the lock beside the lease in every state, in one session; what a lock taken over a lapsed
-- lease leaves of it.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\set ECHO none
-- the answers of each form of the lock, without their effect
CREATE FUNCTION pg_temp.rungs(name text, OUT xact text, OUT xact_shared text, OUT session text, OUT session_shared text)
LANGUAGE plpgsql AS $$
BEGIN
  xact := pg_temp.undone(format('gatepost.try_advisory_xact_lock(%L)', name));
  xact_shared := pg_temp.undone(format('gatepost.try_advisory_xact_lock(%L, shared => true)', name));
  session := pg_temp.undone(format('gatepost.try_advisory_lock(%L)', name));
  session_shared := pg_temp.undone(format('gatepost.try_advisory_lock(%L, shared => true)', name));
  IF session = 'true' THEN
    PERFORM gatepost.advisory_unlock(name);
  END IF;
  IF session_shared = 'true' THEN
    PERFORM gatepost.advisory_unlock(name, true);
  END IF;
END $$;
CREATE FUNCTION pg_temp.undone(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  EXECUTE 'SELECT ' || call INTO answer;
  RAISE EXCEPTION USING ERRCODE = 'ZZ001';
EXCEPTION
  WHEN SQLSTATE 'ZZ001' THEN RETURN answer;
  WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE FUNCTION pg_temp.lapse(name text, token bigint) RETURNS void LANGUAGE sql AS $$
  SELECT pg_temp.wait_until(format('gatepost.lease_status(%L, $1) = ''lapsed''', name), token)
$$;
\set ECHO all

-- free, live, released, broken, lapsed; the lapsed one is superseded by the first look at it that takes the lock
SELECT * FROM pg_temp.rungs('ladder/a');
SELECT gatepost.lease_acquire('ladder/a', '10 min') AS t1 \gset
SELECT * FROM pg_temp.rungs('ladder/a');
SELECT gatepost.lease_release('ladder/a', :t1);
SELECT * FROM pg_temp.rungs('ladder/a');
SELECT gatepost.lease_status('ladder/a', :t1);
SELECT gatepost.lease_acquire('ladder/a', '10 min') AS t2 \gset
SELECT gatepost.lease_break('ladder/a') > :t2 AS broken;
SELECT * FROM pg_temp.rungs('ladder/a');
SELECT gatepost.lease_status('ladder/a', :t2);
SELECT gatepost.lease_acquire('ladder/a', '1 ms') AS t3 \gset
SELECT pg_temp.lapse('ladder/a', :t3);
SELECT * FROM pg_temp.rungs('ladder/a');
-- a rolled-back lock has superseded it all the same
SELECT gatepost.lease_status('ladder/a', :t3), gatepost.lease_renew('ladder/a', :t3), gatepost.lease_release('ladder/a', :t3);
SELECT state, token = :t3 AS t3, remaining, expires_at IS NOT NULL AS had_a_deadline FROM gatepost.leases WHERE name = 'ladder/a';
SELECT gatepost.lease_break('ladder/a');
SELECT * FROM pg_temp.rungs('ladder/a');
-- the next grant is a lease like any other
SELECT gatepost.lease_acquire('ladder/a', '10 min') AS t4 \gset
SELECT gatepost.lease_status('ladder/a', :t3), gatepost.lease_status('ladder/a', :t4), gatepost.lease_renew('ladder/a', :t4),
       gatepost.lease_release('ladder/a', :t4);
SELECT state FROM gatepost.leases WHERE name = 'ladder/a';

-- each form supersedes; a refused one, and unlock, do not
\set ECHO none
CREATE FUNCTION pg_temp.superseded_by(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  name text := 'ladder/' || md5(call);
  token bigint := gatepost.lease_acquire(name, '1 ms');
BEGIN
  PERFORM pg_temp.lapse(name, token);
  PERFORM pg_temp.undone(replace(call, 'NAME', quote_literal(name)));
  RETURN gatepost.lease_status(name, token);
END $$;
\set ECHO all
-- in a transaction of its own each
SELECT call, pg_temp.superseded_by(call)
FROM unnest(ARRAY['gatepost.advisory_xact_lock(NAME)', 'gatepost.advisory_xact_lock(NAME, true)', 'gatepost.try_advisory_xact_lock(NAME)',
                  'gatepost.try_advisory_xact_lock(NAME, ''1 s'', true)', 'gatepost.advisory_unlock(NAME)',
                  'gatepost.advisory_key(NAME)']) AS call;
SELECT gatepost.lease_acquire('ladder/s1', '1 ms') AS s1, gatepost.lease_acquire('ladder/s2', '1 ms') AS s2,
       gatepost.lease_acquire('ladder/s3', '1 ms') AS s3 \gset
SELECT pg_temp.lapse('ladder/s1', :s1), pg_temp.lapse('ladder/s2', :s2), pg_temp.lapse('ladder/s3', :s3);
BEGIN;
SELECT gatepost.advisory_lock('ladder/s1'), gatepost.try_advisory_lock('ladder/s2', shared => true), gatepost.try_advisory_lock('ladder/s3', '1 s');
ROLLBACK;
SELECT gatepost.lease_status('ladder/s1', :s1), gatepost.lease_status('ladder/s2', :s2), gatepost.lease_status('ladder/s3', :s3);
SELECT gatepost.lease_renew('ladder/s1', :s1), gatepost.lease_release('ladder/s1', :s1), gatepost.lease_renew('ladder/s2', :s2);
SELECT gatepost.advisory_unlock('ladder/s1'), gatepost.advisory_unlock('ladder/s2', true), gatepost.advisory_unlock('ladder/s3');

-- marked where it lies: no xid, no new version, nothing to vacuum
SELECT gatepost.lease_acquire('ladder/place', '1 ms') AS place \gset
SELECT pg_temp.lapse('ladder/place', :place);
SELECT ctid AS place_ctid, xmin AS place_xmin FROM gatepost.lease_slots WHERE name = 'ladder/place' \gset
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/place');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid;
COMMIT;
SELECT ctid = :'place_ctid' AS same_place, xmin = :'place_xmin' AS same_version, superseded FROM gatepost.lease_slots WHERE name = 'ladder/place';

-- own session: acquire is refused beside the session's lock, in either mode, until it is unlocked
SELECT gatepost.advisory_lock('ladder/own');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''ladder/own'', ''10 min'')');
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/own');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''ladder/own'', ''10 min'')');
COMMIT;
SELECT gatepost.lease_acquire('ladder/other', '10 min') IS NOT NULL AS another_name;
SELECT gatepost.advisory_lock('ladder/own', true), gatepost.advisory_unlock('ladder/own');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''ladder/own'', ''10 min'')');
SELECT gatepost.advisory_unlock('ladder/own', true);
SELECT gatepost.lease_acquire('ladder/own', '10 min') AS own \gset
SELECT :own > 0 AS granted;
-- and the lock beside the own lease
SELECT * FROM pg_temp.rungs('ladder/own');
SELECT pg_temp.locks_left(), gatepost.lease_release('ladder/own', :own);
\set VERBOSITY default
SELECT gatepost.advisory_lock('ladder/own');
SELECT gatepost.lease_acquire('ladder/own', '10 min');
SELECT gatepost.advisory_unlock('ladder/own');
\set VERBOSITY terse

-- the climb: the transaction's lock and the lease in one transaction; the lock goes, the lease stays
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/climb');
SELECT gatepost.lease_acquire('ladder/climb', '10 min') AS climb \gset
SELECT gatepost.lease_status('ladder/climb', :climb), pg_temp.locks_left();
SELECT gatepost.try_advisory_xact_lock('ladder/climb') AS beside_the_lease;
COMMIT;
SELECT gatepost.lease_status('ladder/climb', :climb), pg_temp.locks_left();
-- with the shared lock too, and undone with it
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/climb2', true);
SELECT gatepost.lease_acquire('ladder/climb2', '10 min') IS NOT NULL AS granted;
ROLLBACK;
SELECT count(*) FROM gatepost.leases WHERE name = 'ladder/climb2';
-- the descent: release and lock in one transaction
BEGIN;
SELECT gatepost.lease_release('ladder/climb', :climb), gatepost.advisory_xact_lock('ladder/climb');
SELECT gatepost.lease_status('ladder/climb', :climb), name, scope FROM gatepost.advisory_locks;
COMMIT;
SELECT gatepost.lease_status('ladder/climb', :climb);

-- a session's lock outlives a rollback, so it does not stand on a change of its own transaction
SELECT gatepost.lease_acquire('ladder/ground', '10 min') AS ground \gset
BEGIN;
SELECT gatepost.lease_release('ladder/ground', :ground);
SELECT pg_temp.ask('SELECT gatepost.advisory_lock(''ladder/ground'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'', ''1 s'', true)');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''ladder/ground'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/elsewhere'')');
ROLLBACK;
SELECT gatepost.lease_status('ladder/ground', :ground);
SELECT name, scope FROM gatepost.advisory_locks;
SELECT gatepost.advisory_unlock('ladder/elsewhere');
-- in a subtransaction, kept or rolled back
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_break('ladder/ground') > :ground AS broken;
RELEASE one;
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'')');
ROLLBACK;
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_release('ladder/ground', :ground);
ROLLBACK TO one;
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'')') AS live_again;
COMMIT;
SELECT gatepost.lease_release('ladder/ground', :ground);
-- own renewals and grants that have lapsed, and purged rows
BEGIN;
SELECT gatepost.lease_acquire('ladder/ground', '1 ms') AS ground2 \gset
SELECT pg_temp.lapse('ladder/ground', :ground2);
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''ladder/ground'')');
SELECT gatepost.lease_status('ladder/ground', :ground2), gatepost.lease_renew('ladder/ground', :ground2);
COMMIT;
SELECT gatepost.lease_status('ladder/ground', :ground2);
BEGIN;
SELECT gatepost.lease_purge('0', 'ladder/ground');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''ladder/ground'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''ladder/ground'')');
COMMIT;
SELECT gatepost.try_advisory_lock('ladder/ground'), gatepost.advisory_unlock('ladder/ground');

-- nobody waits for a live lease with his hands full: nobody would see such a deadlock
SELECT gatepost.lease_acquire('ladder/live', '10 min') AS live \gset
-- a wait that is allowed all the same shall fail here
SET statement_timeout = '20 s';
\set wait 'SELECT gatepost.advisory_xact_lock(''ladder/live'')'
\set wait_shared 'SELECT gatepost.advisory_lock(''ladder/live'', true)'
\set wait_long 'SELECT gatepost.try_advisory_lock(''ladder/live'', ''1 h'')'
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/hand');
SELECT pg_temp.ask(:'wait'), pg_temp.ask(:'wait_shared'), pg_temp.ask(:'wait_long');
SELECT gatepost.try_advisory_xact_lock('ladder/live') AS without_waiting;
COMMIT;
BEGIN;
SELECT gatepost.lease_acquire('ladder/hand', '10 min') AS hand \gset
SELECT pg_temp.ask(:'wait');
COMMIT;
BEGIN;
SELECT gatepost.lease_renew('ladder/hand', :hand);
SELECT pg_temp.ask(:'wait_long');
COMMIT;
BEGIN;
SELECT gatepost.lease_release('ladder/hand', :hand);
SELECT pg_temp.ask(:'wait');
ROLLBACK;
SELECT gatepost.advisory_lock('ladder/hand2', true);
SELECT pg_temp.ask(:'wait'), pg_temp.ask(:'wait_long');
-- given back in this very transaction it is still held for others
BEGIN;
SELECT gatepost.advisory_unlock('ladder/hand2', true);
SELECT pg_temp.ask(:'wait');
ROLLBACK;
SELECT pg_temp.locks_left();
RESET statement_timeout;
-- with free hands the wait is allowed, and limited by wait, lock_timeout and statement_timeout
SELECT gatepost.try_advisory_xact_lock('ladder/live', '20 ms') AS within, gatepost.try_advisory_lock('ladder/live', '20 ms', true) AS within;
BEGIN;
SET LOCAL statement_timeout = '50 ms';
SELECT gatepost.advisory_lock('ladder/live');
ROLLBACK;
SET lock_timeout = '50 ms';
SET statement_timeout = '20 s';
SELECT gatepost.advisory_lock('ladder/live');
SELECT gatepost.try_advisory_xact_lock('ladder/live', '1 h');
RESET lock_timeout;
RESET statement_timeout;
SELECT pg_temp.locks_left(), gatepost.lease_status('ladder/live', :live);
SELECT * FROM gatepost.advisory_known();
-- it ends with the lease
SELECT gatepost.lease_renew('ladder/live', :live, '50 ms');
SELECT gatepost.advisory_xact_lock('ladder/live');
SELECT gatepost.lease_status('ladder/live', :live), pg_temp.locks_left();

-- purge knows superseded rows, and takes no lock's ground away
SELECT gatepost.lease_purge('1 day', 'ladder/') AS too_young;
BEGIN;
SELECT gatepost.advisory_xact_lock('ladder/live');
SELECT gatepost.lease_purge('0', 'ladder/live');
COMMIT;
SELECT gatepost.lease_status('ladder/live', :live), gatepost.lease_renew('ladder/live', :live);
SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'ladder/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'ladder/') > 0 AS purged, pg_temp.locks_left();
