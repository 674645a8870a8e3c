-- More locks than the server has room for: a clear error, and what was taken can be given back.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
-- what a statement looks up in shared catalogs wants a lock in the table too: looked up before
SELECT count(gatepost.advisory_unlock('full/' || n)) AS given_back FROM generate_series(1, 0) AS n;
-- in pieces, so that only the session's own locks fill the table
CREATE PROCEDURE pg_temp.lock_many(most int) LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 1 .. most LOOP
    PERFORM gatepost.advisory_lock('full/' || n);
    IF n % 100 = 0 THEN
      COMMIT;
    END IF;
  END LOOP;
END $$;
-- 53200; the hint, to increase max_locks_per_transaction, is the server's
\set VERBOSITY sqlstate
CALL pg_temp.lock_many(50000);
\set VERBOSITY terse
-- giving back needs no room
SELECT count(gatepost.advisory_unlock('full/' || n)) AS given_back FROM generate_series(1, 100) AS n;
-- what is held is what is known
SELECT count(*) AS taken, count(*) = pg_temp.locks_left() AND count(*) > 1000 AS all_known FROM gatepost.advisory_known() \gset
\echo all known: :all_known
-- with a little room the session works on
SELECT gatepost.lease_acquire('full/lease', '1 min') AS lease \gset
SELECT gatepost.lease_release('full/lease', :lease), gatepost.try_advisory_xact_lock('full/1');
SELECT count(gatepost.advisory_unlock('full/' || n)) = :taken AS given_back FROM generate_series(101, 100 + :taken) AS n;
SELECT pg_temp.locks_left(), count(*) AS known FROM gatepost.advisory_known();
-- in one transaction: nothing is left
BEGIN;
SELECT count(gatepost.advisory_xact_lock('full/' || n)) FROM generate_series(1, 50000) AS n;
ROLLBACK;
SELECT pg_temp.locks_left(), count(*) AS known FROM gatepost.advisory_known();
-- a savepoint before it saves the rest of the transaction
BEGIN;
SELECT gatepost.advisory_xact_lock('full/first');
SELECT pg_temp.ask('SELECT count(gatepost.advisory_xact_lock(''full/'' || n)) FROM generate_series(1, 50000) AS n');
SELECT name, mode, scope FROM gatepost.advisory_locks;
COMMIT;
-- leases take no room: more names than there were locks, in one transaction
SELECT count(*) - :taken > 100 AS granted FROM generate_series(1, :taken + 1000) AS n WHERE gatepost.lease_acquire('full/lease/' || n, '1 min') IS NOT NULL;
SELECT bool_and(gatepost.lease_release(name, token)) AS released FROM gatepost.leases WHERE name LIKE 'full/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'full/') > :taken AS purged, pg_temp.locks_left();
