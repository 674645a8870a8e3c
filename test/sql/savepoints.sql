-- ROLLBACK TO and exception blocks take back what was done in them; a token once seen is never drawn again.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- an exception block: the variable keeps the token, the lease is gone
CREATE TEMP TABLE seen (token bigint);
DO $$
DECLARE
  t bigint;
BEGIN
  BEGIN
    t := gatepost.lease_acquire('savepoint/a', '10 min');
    RAISE EXCEPTION 'fails';
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'token kept %, renew %, release %, status %', t IS NOT NULL, gatepost.lease_renew('savepoint/a', t, '10 min'),
      gatepost.lease_release('savepoint/a', t), gatepost.lease_status('savepoint/a', t);
  END;
  INSERT INTO seen VALUES (t);
END $$;
SELECT count(*) FROM gatepost.leases WHERE name = 'savepoint/a';
SELECT gatepost.lease_acquire('savepoint/a', '10 min') AS t2 \gset
SELECT :t2 > token AS larger FROM seen;
-- the rolled-back token does not pass where the new one has written
CREATE TABLE savepoint_rows (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO savepoint_rows VALUES (1, 'a', NULL);
SELECT gatepost.fenced_update('savepoint_rows', '{"id": 1}', '{"v": "t2"}', :t2);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''savepoint_rows'', ''{"id": 1}'', ''{"v": "t1"}'', $1)', token), 5) FROM seen;
SELECT v, fence = :t2 AS mark FROM savepoint_rows;
SELECT gatepost.lease_release('savepoint/a', :t2);

-- SAVEPOINT and ROLLBACK TO: the name is free again within the transaction, the next token larger
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_acquire('savepoint/b', '10 min') AS t1 \gset
ROLLBACK TO one;
SELECT gatepost.lease_status('savepoint/b', :t1), gatepost.lease_renew('savepoint/b', :t1), gatepost.lease_release('savepoint/b', :t1);
SELECT gatepost.lease_acquire('savepoint/b', '10 min') AS t2 \gset
SELECT :t2 > :t1 AS larger;
ROLLBACK TO one;
SELECT gatepost.lease_acquire('savepoint/b', '10 min') AS t3 \gset
SELECT :t3 > :t2 AS larger;
RELEASE one;
SELECT gatepost.lease_status('savepoint/b', :t3), pg_temp.locks_left();
COMMIT;
SELECT gatepost.lease_status('savepoint/b', :t3);

-- a renewal that is rolled back: the deadline before it counts
SELECT expires_at AS deadline FROM gatepost.leases WHERE name = 'savepoint/b' \gset
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_renew('savepoint/b', :t3, '20 min');
SELECT expires_at > :'deadline' AS later, ttl FROM gatepost.leases WHERE name = 'savepoint/b';
ROLLBACK TO one;
SELECT expires_at = :'deadline' AS as_before, ttl FROM gatepost.leases WHERE name = 'savepoint/b';
COMMIT;

-- a release, a break and a purge that are rolled back
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_release('savepoint/b', :t3);
SELECT gatepost.lease_acquire('savepoint/b', '10 min') AS t4 \gset
SELECT :t4 > :t3 AS larger, gatepost.lease_status('savepoint/b', :t3);
ROLLBACK TO one;
SELECT gatepost.lease_status('savepoint/b', :t3), gatepost.lease_status('savepoint/b', :t4), gatepost.lease_renew('savepoint/b', :t3);
SELECT gatepost.lease_break('savepoint/b') > :t4 AS larger;
SELECT gatepost.lease_status('savepoint/b', :t3);
ROLLBACK TO one;
SELECT gatepost.lease_status('savepoint/b', :t3), gatepost.lease_acquire('savepoint/b', '10 min') AS held;
COMMIT;
SELECT gatepost.lease_release('savepoint/b', :t3);
BEGIN;
SAVEPOINT one;
SELECT gatepost.lease_purge('0', 'savepoint/b');
SELECT gatepost.lease_status('savepoint/b', :t3);
ROLLBACK TO one;
SELECT gatepost.lease_status('savepoint/b', :t3);
COMMIT;

-- nested: what the outer level keeps, the inner one may lose
BEGIN;
SELECT gatepost.lease_acquire('savepoint/c', '10 min') AS outer_token \gset
SAVEPOINT one;
SELECT gatepost.lease_release('savepoint/c', :outer_token);
SAVEPOINT two;
SELECT gatepost.lease_acquire('savepoint/c', '10 min') AS inner_token \gset
SELECT gatepost.lease_acquire('savepoint/d', '10 min') AS d \gset
RELEASE two;
SELECT gatepost.lease_status('savepoint/c', :outer_token), gatepost.lease_status('savepoint/c', :inner_token);
ROLLBACK TO one;
SELECT gatepost.lease_status('savepoint/c', :outer_token), gatepost.lease_status('savepoint/c', :inner_token),
       gatepost.lease_status('savepoint/d', :d);
COMMIT;
SELECT gatepost.lease_status('savepoint/c', :outer_token), gatepost.lease_renew('savepoint/c', :inner_token);

-- an error of ours inside a savepoint leaves the rest of the transaction whole
BEGIN;
SELECT gatepost.lease_acquire('savepoint/e', '10 min') AS e \gset
SAVEPOINT one;
SELECT gatepost.lease_renew('savepoint/e', :e, '-1 s');
ROLLBACK TO one;
SELECT gatepost.lease_renew('savepoint/e', :e), pg_temp.locks_left();
COMMIT;
SELECT gatepost.lease_status('savepoint/e', :e);

-- many levels, many rounds: tokens only rise, and nothing is left locked
DO $$
DECLARE
  t bigint;
  last bigint := 0;
BEGIN
  FOR n IN 1 .. 300 LOOP
    BEGIN
      t := gatepost.lease_acquire('savepoint/f', '10 min');
      IF t IS NULL OR t <= last THEN
        RAISE EXCEPTION 'round %: token % after %', n, t, last;
      END IF;
      last := t;
      IF n % 3 = 0 THEN
        PERFORM gatepost.lease_release('savepoint/f', t);
      ELSE
        RAISE EXCEPTION USING ERRCODE = 'ZZ001';
      END IF;
    EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
    END;
  END LOOP;
END $$;
SELECT pg_temp.locks_left();

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'savepoint/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'savepoint/') > 0 AS purged;
DROP TABLE savepoint_rows;
