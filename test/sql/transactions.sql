-- Read-only, prepared, aborted, REPEATABLE READ and SERIALIZABLE transactions; procedures that commit.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE transaction_rows (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO transaction_rows VALUES (1, 'a', NULL);
SELECT gatepost.lease_acquire('transaction/a', '10 min') AS token \gset

-- read only: every changing call is refused, also where it would change nothing
BEGIN READ ONLY;
SELECT call, pg_temp.ask('SELECT gatepost.' || call, :token) FROM (VALUES
  ($$lease_acquire('transaction/b', '10 min')$$),
  ($$lease_acquire('transaction/a', '10 min')$$),
  ($$lease_renew('transaction/a', $1)$$),
  ($$lease_renew('transaction/b', $1)$$),
  ($$lease_release('transaction/a', $1)$$),
  ($$lease_release('transaction/b', $1)$$),
  ($$lease_break('transaction/a')$$),
  ($$lease_purge('0', 'transaction/')$$),
  ($$lease_queue('transaction/a', '6f1c3d3e-0000-4000-8000-000000000001', '1 min', '1 min')$$),
  ($$lease_unqueue('transaction/a', '6f1c3d3e-0000-4000-8000-000000000001')$$),
  ($$lease_transfer('transaction/a', $1, '6f1c3d3e-0000-4000-8000-000000000001')$$),
  ($$lease_watch('transaction/a')$$),
  ($$lease_unwatch('transaction/a')$$),
  ($$token_draw()$$),
  ($$token_raise_generation()$$),
  ($$fenced_update('transaction_rows', '{"id": 1}', '{"v": "b"}', $1)$$),
  ($$fenced_update('transaction_rows', '{"id": 2}', '{"v": "b"}', $1)$$)) AS v(call);
-- looking is allowed
SELECT gatepost.lease_status('transaction/a', :token), gatepost.token_generation() > 0 AS generation,
       gatepost.library_version() <> '' AS version;
SELECT state, authoritative FROM gatepost.leases WHERE name = 'transaction/a';
COMMIT;
SET default_transaction_read_only = on;
SELECT gatepost.lease_renew('transaction/a', :token);
RESET default_transaction_read_only;
SELECT gatepost.lease_status('transaction/a', :token);
SELECT pg_temp.locks_left();

-- PREPARE TRANSACTION is refused after a grant, a renewal, a release, a break, a purge
BEGIN;
SELECT gatepost.lease_acquire('transaction/c', '10 min') > 0 AS granted;
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT gatepost.lease_renew('transaction/a', :token);
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT gatepost.lease_release('transaction/a', :token);
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT gatepost.lease_break('transaction/a') > 0 AS broken;
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.lease_acquire('transaction/p', '10 min') AS p \gset
SELECT gatepost.lease_release('transaction/p', :p);
BEGIN;
SELECT gatepost.lease_purge('0', 'transaction/p');
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
-- also when the grant was in a savepoint
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_acquire('transaction/c', '10 min') > 0 AS granted;
RELEASE one;
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_acquire('transaction/c', '10 min') > 0 AS granted;
RELEASE one;
SAVEPOINT two;
ROLLBACK TO two;
PREPARE TRANSACTION 'gatepost_regress';
\echo :LAST_ERROR_SQLSTATE
-- all of it was rolled back
SELECT gatepost.lease_status('transaction/a', :token), gatepost.lease_renew('transaction/a', :token);
SELECT count(*) FROM gatepost.leases WHERE name = 'transaction/c';
SELECT gatepost.lease_status('transaction/p', :p), pg_temp.locks_left();
-- refused tries, looks and fenced writes may be prepared, where the server prepares at all
BEGIN;
SELECT gatepost.lease_acquire('transaction/a', '10 min') AS held, gatepost.lease_status('transaction/a', :token);
SELECT gatepost.fenced_update('transaction_rows', '{"id": 1}', '{"v": "prepared"}', :token);
SELECT current_setting('max_prepared_transactions') <> '0' AS can_prepare \gset
\if :can_prepare
PREPARE TRANSACTION 'gatepost_regress';
\else
ROLLBACK;
\endif
SELECT (count(*) > 0) = :'can_prepare' AS prepared_if_possible FROM pg_prepared_xacts WHERE gid = 'gatepost_regress';
\if :can_prepare
ROLLBACK PREPARED 'gatepost_regress';
\endif

-- REPEATABLE READ and SERIALIZABLE: the newest state, no 40001
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM transaction_rows;
SELECT gatepost.lease_renew('transaction/a', :token), gatepost.lease_acquire('transaction/d', '10 min') AS d \gset
SELECT gatepost.lease_status('transaction/d', :d), gatepost.lease_release('transaction/d', :d),
       gatepost.lease_acquire('transaction/d', '10 min') > :d AS again, gatepost.lease_acquire('transaction/a', '10 min') AS held;
SELECT count(*) FROM gatepost.leases WHERE name = 'transaction/d';
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM transaction_rows;
SELECT gatepost.lease_renew('transaction/a', :token), gatepost.lease_acquire('transaction/e', '10 min') AS e \gset
SELECT gatepost.lease_status('transaction/e', :e), gatepost.lease_release('transaction/e', :e),
       gatepost.lease_acquire('transaction/e', '10 min') > :e AS again, gatepost.lease_acquire('transaction/a', '10 min') AS held;
SELECT count(*) FROM gatepost.leases WHERE name = 'transaction/e';
-- no predicate lock on our tables or their indexes
SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE mode = 'SIReadLock' AND relnamespace = 'gatepost'::regnamespace;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
SELECT state FROM gatepost.leases WHERE name = 'transaction/e';
COMMIT;

-- a release in an aborted transaction fails as anything does there; after ROLLBACK nothing is stuck
BEGIN;
SELECT gatepost.lease_acquire('transaction/f', '10 min') AS f \gset
SELECT 1/0;
SELECT gatepost.lease_release('transaction/f', :f);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT pg_temp.locks_left(), gatepost.lease_status('transaction/f', :f);
SELECT gatepost.lease_acquire('transaction/f', '10 min') AS f2 \gset
SELECT :f2 > :f AS larger;
-- a lease committed before survives the failed block, and is released after it
BEGIN;
SELECT gatepost.lease_renew('transaction/f', :f2);
SELECT 1/0;
SELECT gatepost.lease_release('transaction/f', :f2);
ROLLBACK;
SELECT gatepost.lease_status('transaction/f', :f2), gatepost.lease_release('transaction/f', :f2), gatepost.lease_status('transaction/f', :f2);
SELECT pg_temp.locks_left();

-- a procedure that commits between its calls
CREATE PROCEDURE transaction_steps() LANGUAGE plpgsql AS $$
DECLARE
  t bigint := gatepost.lease_acquire('transaction/g', '10 min');
BEGIN
  COMMIT;
  RAISE NOTICE 'renew % status %', gatepost.lease_renew('transaction/g', t), gatepost.lease_status('transaction/g', t);
  ROLLBACK;
  RAISE NOTICE 'renew % release %', gatepost.lease_renew('transaction/g', t), gatepost.lease_release('transaction/g', t);
  ROLLBACK;
  RAISE NOTICE 'release %', gatepost.lease_release('transaction/g', t);
  COMMIT;
  RAISE NOTICE 'release %, locks %', gatepost.lease_release('transaction/g', t), pg_temp.locks_left();
END $$;
CALL transaction_steps();

-- deferred work at commit, and a holdable cursor filled at commit
CREATE TABLE transaction_deferred (name text);
CREATE FUNCTION transaction_acquire() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'granted at commit: %', gatepost.lease_acquire(NEW.name, '10 min') IS NOT NULL;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER acquire AFTER INSERT ON transaction_deferred DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION transaction_acquire();
BEGIN;
INSERT INTO transaction_deferred VALUES ('transaction/h');
SELECT count(*) FROM gatepost.leases WHERE name = 'transaction/h';
COMMIT;
SELECT state FROM gatepost.leases WHERE name = 'transaction/h';
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT gatepost.lease_acquire('transaction/i', '10 min') > 0 AS granted;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
SELECT state FROM gatepost.leases WHERE name = 'transaction/i';

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'transaction/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'transaction/') > 0 AS purged;
DROP TABLE transaction_rows, transaction_deferred;
DROP FUNCTION transaction_acquire;
DROP PROCEDURE transaction_steps;
