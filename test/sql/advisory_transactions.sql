-- Named locks and the transaction around them: savepoints, exception blocks, isolation levels, read-only, PREPARE, procedures.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
CREATE VIEW pg_temp.mine AS SELECT name, mode, scope FROM gatepost.advisory_locks WHERE pid = pg_backend_pid() ORDER BY name, mode, scope;

-- ROLLBACK TO takes back the transaction's locks that were taken after it, and none of the session's
BEGIN;
SELECT gatepost.advisory_xact_lock('tx/outer');
SAVEPOINT one;
SELECT gatepost.advisory_xact_lock('tx/inner'), gatepost.advisory_xact_lock('tx/outer'), gatepost.advisory_lock('tx/session'),
       gatepost.try_advisory_xact_lock('tx/inner', '1 s', true);
SELECT * FROM pg_temp.mine;
ROLLBACK TO one;
SELECT * FROM pg_temp.mine;
SELECT pg_temp.locks_left();
SELECT gatepost.advisory_xact_lock('tx/inner');
RELEASE one;
SELECT * FROM pg_temp.mine;
SAVEPOINT two;
SAVEPOINT three;
SELECT gatepost.advisory_xact_lock('tx/deep');
RELEASE three;
SELECT * FROM pg_temp.mine WHERE name = 'tx/deep';
ROLLBACK TO two;
SELECT * FROM pg_temp.mine;
-- and known to hold no more than that
SELECT count(*) FROM gatepost.advisory_known();
COMMIT;
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('tx/session');

-- an exception block is a savepoint
DO $$
DECLARE
  held text;
BEGIN
  PERFORM gatepost.advisory_xact_lock('tx/outer');
  BEGIN
    PERFORM gatepost.advisory_xact_lock('tx/inner'), gatepost.advisory_lock('tx/session');
    RAISE EXCEPTION USING ERRCODE = 'ZZ001';
  EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
    SELECT string_agg(name || ' ' || scope, ', ' ORDER BY name) INTO held FROM gatepost.advisory_locks;
    RAISE NOTICE '%', held;
  END;
  -- an error of ours in it leaves nothing
  BEGIN
    PERFORM gatepost.advisory_xact_lock('tx/inner'), gatepost.advisory_unlock('tx/never');
  EXCEPTION WHEN object_not_in_prerequisite_state THEN
    SELECT string_agg(name || ' ' || scope, ', ' ORDER BY name) INTO held FROM gatepost.advisory_locks;
    RAISE NOTICE '%', held;
  END;
END $$;
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('tx/session');

-- unlocked in a subtransaction that is rolled back: unlocked for good, and kept until the transaction ends
SELECT gatepost.advisory_lock('tx/a');
BEGIN;
SAVEPOINT one;
SELECT gatepost.advisory_unlock('tx/a');
ROLLBACK TO one;
SELECT pg_temp.try('SELECT gatepost.advisory_unlock(''tx/a'')'), pg_temp.locks_left();
COMMIT;
SELECT pg_temp.locks_left();
-- unlocked and locked again, in one transaction and in one statement
BEGIN;
SELECT gatepost.advisory_lock('tx/a'), gatepost.advisory_unlock('tx/a'), gatepost.advisory_lock('tx/a');
SELECT gatepost.advisory_unlock('tx/a'), gatepost.try_advisory_lock('tx/a', shared => true), gatepost.try_advisory_xact_lock('tx/a');
SELECT * FROM pg_temp.mine;
COMMIT;
SELECT * FROM pg_temp.mine;
SELECT gatepost.advisory_unlock('tx/a', true);

-- many levels, many rounds
DO $$
BEGIN
  FOR n IN 1 .. 300 LOOP
    BEGIN
      PERFORM gatepost.advisory_xact_lock('tx/' || n % 5), gatepost.advisory_xact_lock('tx/' || n % 3, true);
      IF n % 3 <> 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'ZZ001';
      END IF;
    EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
    END;
  END LOOP;
  IF (SELECT count(*) FROM gatepost.advisory_locks) <> pg_temp.locks_left() OR pg_temp.locks_left() <> 6 THEN
    RAISE EXCEPTION 'what is known and what is held differ: %, %', (SELECT count(*) FROM gatepost.advisory_locks), pg_temp.locks_left();
  END IF;
END $$;
SELECT pg_temp.locks_left();

-- a procedure that commits between: the transaction's locks go with each, the session's stay
CREATE PROCEDURE pg_temp.commits() LANGUAGE plpgsql AS $$
DECLARE
  held text;
BEGIN
  PERFORM gatepost.advisory_xact_lock('tx/outer'), gatepost.advisory_lock('tx/session');
  COMMIT;
  SELECT string_agg(name, ', ') INTO held FROM gatepost.advisory_locks;
  RAISE NOTICE '%', held;
  PERFORM gatepost.advisory_unlock('tx/session');
  RAISE NOTICE 'before commit %', pg_temp.locks_left();
  COMMIT;
  RAISE NOTICE 'after commit %', pg_temp.locks_left();
END $$;
CALL pg_temp.commits();

-- every isolation level, also after the snapshot, as long as nobody has to be waited for
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM gatepost.lease_slots WHERE name LIKE 'tx/%';
SELECT gatepost.try_advisory_xact_lock('tx/a'), gatepost.try_advisory_xact_lock('tx/b', '1 s'), gatepost.advisory_xact_lock('tx/c'),
       gatepost.advisory_lock('tx/d', true), gatepost.try_advisory_lock('tx/e', '1 s');
SELECT * FROM pg_temp.mine;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM gatepost.lease_slots WHERE name LIKE 'tx/%';
SELECT gatepost.try_advisory_xact_lock('tx/a'), gatepost.try_advisory_xact_lock('tx/b', '1 s'), gatepost.advisory_xact_lock('tx/c'),
       gatepost.advisory_unlock('tx/d', true), gatepost.advisory_unlock('tx/e');
COMMIT;
-- a live lease has to be waited for
SET statement_timeout = '20 s';
SELECT gatepost.lease_acquire('tx/live', '10 min') AS live \gset
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT gatepost.try_advisory_xact_lock('tx/live'), gatepost.try_advisory_lock('tx/live', '0', true);
SELECT pg_temp.ask('SELECT gatepost.advisory_xact_lock(''tx/live'')');
SELECT pg_temp.ask('SELECT gatepost.advisory_lock(''tx/live'', true)');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''tx/live'', ''1 us'')');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT gatepost.try_advisory_xact_lock('tx/live');
SELECT pg_temp.ask('SELECT gatepost.advisory_xact_lock(''tx/live'')');
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''tx/live'', ''1 h'')');
COMMIT;
RESET statement_timeout;
SELECT pg_temp.locks_left(), gatepost.lease_release('tx/live', :live);

-- read-only: a lock changes no data; also the mark of a lapsed lease needs no xid
SELECT gatepost.lease_acquire('tx/lapsed', '1 ms') AS lapsed \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''tx/lapsed'', $1) = ''lapsed''', :lapsed);
BEGIN READ ONLY;
SELECT gatepost.advisory_xact_lock('tx/a'), gatepost.try_advisory_xact_lock('tx/b'), gatepost.advisory_lock('tx/c', true),
       gatepost.try_advisory_lock('tx/d'), gatepost.try_advisory_xact_lock('tx/lapsed');
SELECT gatepost.advisory_unlock('tx/c', true), gatepost.advisory_unlock('tx/d');
SELECT gatepost.lease_status('tx/lapsed', :lapsed), pg_current_xact_id_if_assigned() IS NULL AS no_xid;
ROLLBACK;
SELECT gatepost.lease_status('tx/lapsed', :lapsed);
SET default_transaction_read_only = on;
SELECT gatepost.advisory_lock('tx/a'), gatepost.advisory_unlock('tx/a');
RESET default_transaction_read_only;

-- no xid, no row, when nothing is in the way
BEGIN;
SELECT gatepost.advisory_xact_lock('tx/a'), gatepost.advisory_lock('tx/b'), gatepost.try_advisory_xact_lock('tx/c'), gatepost.advisory_unlock('tx/b');
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid, (SELECT count(*) FROM gatepost.lease_slots WHERE name IN ('tx/a', 'tx/b', 'tx/c')) AS rows;
COMMIT;

-- PREPARE TRANSACTION would hand the lock to nobody
BEGIN;
SELECT gatepost.advisory_xact_lock('tx/a');
PREPARE TRANSACTION 'regress_gatepost_rung';
SELECT pg_temp.locks_left();
BEGIN;
SELECT gatepost.try_advisory_lock('tx/a');
PREPARE TRANSACTION 'regress_gatepost_rung';
SELECT * FROM pg_temp.mine;
-- nor may it take along what advisory_unlock keeps until the commit
BEGIN;
SELECT gatepost.advisory_unlock('tx/a');
PREPARE TRANSACTION 'regress_gatepost_rung';
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid IS NULL;
-- one that was not to be had does not count, where the server prepares at all
SELECT current_setting('max_prepared_transactions') <> '0' AS can_prepare \gset
SELECT gatepost.lease_acquire('tx/live', '10 min') AS live \gset
BEGIN;
SELECT gatepost.try_advisory_xact_lock('tx/live') AS had;
\if :can_prepare
PREPARE TRANSACTION 'regress_gatepost_rung';
ROLLBACK PREPARED 'regress_gatepost_rung';
\else
ROLLBACK;
\endif
SELECT gatepost.lease_release('tx/live', :live);
-- nor does a session's lock of an earlier transaction
SELECT gatepost.advisory_lock('tx/a');
BEGIN;
SELECT txid_current() > 0 AS work;
\if :can_prepare
PREPARE TRANSACTION 'regress_gatepost_rung';
COMMIT PREPARED 'regress_gatepost_rung';
\else
COMMIT;
\endif
SELECT gatepost.advisory_unlock('tx/a');

-- a cursor that locks as it is fetched from
BEGIN;
DECLARE c CURSOR FOR SELECT n, gatepost.try_advisory_xact_lock('tx/' || n) FROM generate_series(1, 5) AS n;
FETCH 2 FROM c;
CLOSE c;
SELECT * FROM pg_temp.mine;
COMMIT;
-- a wait inside a savepoint, after which the lock belongs to the savepoint's parent
SELECT gatepost.lease_acquire('tx/live', '30 ms') AS live \gset
BEGIN;
SAVEPOINT one;
SELECT gatepost.try_advisory_xact_lock('tx/live', '1 min') AS waited;
RELEASE one;
SELECT * FROM pg_temp.mine;
COMMIT;
SELECT gatepost.lease_purge('0', 'tx/') > 0 AS purged, pg_temp.locks_left();
