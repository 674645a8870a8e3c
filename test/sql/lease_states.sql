-- The state table as far as one session can show it: free, live, lapsed, released, broken, superseded.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- the answers of the calls that take a token, without their effect
CREATE FUNCTION pg_temp.answers(name text, token bigint,
  OUT status text, OUT renew boolean, OUT release boolean, OUT acquire boolean) LANGUAGE plpgsql AS $$
BEGIN
  status := gatepost.lease_status(name, token);
  BEGIN
    renew := gatepost.lease_renew(name, token);
    RAISE EXCEPTION USING ERRCODE = 'ZZ001';
  EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
  END;
  BEGIN
    release := gatepost.lease_release(name, token);
    RAISE EXCEPTION USING ERRCODE = 'ZZ001';
  EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
  END;
  BEGIN
    acquire := gatepost.lease_acquire(name, '1 min') > token;
    RAISE EXCEPTION USING ERRCODE = 'ZZ001';
  EXCEPTION WHEN SQLSTATE 'ZZ001' THEN NULL;
  END;
END $$;

-- free: never taken
SELECT * FROM pg_temp.answers('states/a', 7);

-- live
SELECT gatepost.lease_acquire('states/a', '10 min', owner => 'worker 1', metadata => '{"job": 17}') AS t1 \gset
SELECT * FROM pg_temp.answers('states/a', :t1);
SELECT name, kind, state, token = :t1 AS token, generation = gatepost.token_generation() AS generation,
       owner, role = current_user::regrole AS role, pid = pg_backend_pid() AS pid, acquired_at = renewed_at AS never_renewed,
       expires_at - renewed_at = ttl AS expires, remaining BETWEEN interval '9 min' AND ttl AS remaining, ttl,
       metadata, authoritative
FROM gatepost.leases WHERE name = 'states/a';
-- a token that is not the current one, though below it
SELECT * FROM pg_temp.answers('states/a', :t1 - 32);

-- renewed: same token, later deadline, acquired_at stays
SELECT acquired_at AS first_acquired, expires_at AS first_expires FROM gatepost.leases WHERE name = 'states/a' \gset
SELECT gatepost.lease_renew('states/a', :t1, '20 min');
SELECT token = :t1 AS token, acquired_at = :'first_acquired' AS acquired_at, renewed_at > acquired_at AS renewed,
       expires_at > timestamptz :'first_expires' + interval '9 min' AS later, ttl
FROM gatepost.leases WHERE name = 'states/a';
-- without a ttl the one of the last renewal counts
SELECT gatepost.lease_renew('states/a', :t1);
SELECT ttl FROM gatepost.leases WHERE name = 'states/a';

-- released
SELECT gatepost.lease_release('states/a', :t1);
SELECT * FROM pg_temp.answers('states/a', :t1);
SELECT state, token = :t1 AS token FROM gatepost.leases WHERE name = 'states/a';

-- superseded: live again under another token
SELECT gatepost.lease_acquire('states/a', '10 min') AS t2 \gset
SELECT :t2 > :t1 AS larger;
SELECT * FROM pg_temp.answers('states/a', :t1);
SELECT * FROM pg_temp.answers('states/a', :t2);
-- a superseded token changes nothing
SELECT gatepost.lease_release('states/a', :t1), gatepost.lease_renew('states/a', :t1, '1 ms');
SELECT state, token = :t2 AS token, ttl FROM gatepost.leases WHERE name = 'states/a';

-- broken, then taken by another
SELECT gatepost.lease_break('states/a', reason => 'stuck') AS t3 \gset
SELECT :t3 > :t2 AS larger;
SELECT * FROM pg_temp.answers('states/a', :t2);
SELECT state FROM gatepost.leases WHERE name = 'states/a';
SELECT gatepost.lease_acquire('states/a', '10 min') AS t4 \gset
SELECT :t4 > :t3 AS larger;
SELECT * FROM pg_temp.answers('states/a', :t2);
SELECT * FROM pg_temp.answers('states/a', :t3);

-- lapsed: past its deadline, and nobody came. Nothing brings it back
SELECT gatepost.lease_acquire('states/b', '1 ms') AS t5 \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''states/b'', $1) <> ''held''', :t5);
SELECT * FROM pg_temp.answers('states/b', :t5);
SELECT state, token = :t5 AS token, remaining <= interval '0' AS over FROM gatepost.leases WHERE name = 'states/b';
SELECT gatepost.lease_renew('states/b', :t5, '10 min'), gatepost.lease_release('states/b', :t5);
SELECT gatepost.lease_status('states/b', :t5);
SELECT gatepost.lease_acquire('states/b', '10 min') AS t6 \gset
SELECT :t6 > :t5 AS larger;
SELECT * FROM pg_temp.answers('states/b', :t5);

-- a renewal that shortens the lease ends it early
SELECT gatepost.lease_renew('states/b', :t6, '1 ms');
SELECT pg_temp.wait_until('gatepost.lease_status(''states/b'', $1) = ''lapsed''', :t6);

-- own request id: the same grant again while it lives, a new one after it
SELECT gatepost.lease_acquire('states/c', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000001') AS t7 \gset
SELECT gatepost.lease_acquire('states/c', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000001') = :t7 AS same;
SELECT gatepost.lease_acquire('states/c', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000002') AS other_request,
       gatepost.lease_acquire('states/c', '10 min') AS no_request;
-- the id belongs to its name
SELECT gatepost.lease_acquire('states/d', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000001') AS t8 \gset
SELECT :t8 > :t7 AS larger;
SELECT gatepost.lease_release('states/c', :t7);
SELECT gatepost.lease_acquire('states/c', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000001') AS t9 \gset
SELECT :t9 > :t8 AS larger;
-- a grant without an id has none to be asked for
SELECT gatepost.lease_acquire('states/e', '10 min') > 0 AS granted;
SELECT gatepost.lease_acquire('states/e', '10 min', request_id => '00000000-0000-0000-0000-000000000000');
\echo :LAST_ERROR_SQLSTATE

-- the token of one name says nothing about another
SELECT gatepost.lease_status('states/d', :t9), gatepost.lease_renew('states/d', :t7), gatepost.lease_release('states/d', :t7);
SELECT gatepost.lease_status('states/d', :t8);

-- in the transaction that acquires, and after it is rolled back
BEGIN;
SELECT gatepost.lease_acquire('states/f', '10 min') AS t10 \gset
SELECT * FROM pg_temp.answers('states/f', :t10);
SELECT state FROM gatepost.leases WHERE name = 'states/f';
ROLLBACK;
SELECT * FROM pg_temp.answers('states/f', :t10);
SELECT count(*) FROM gatepost.leases WHERE name = 'states/f';

-- acquire, renew, release and acquire in one statement each see the step before
BEGIN;
SELECT gatepost.lease_acquire('states/g', '10 min') AS t11 \gset
SELECT gatepost.lease_renew('states/g', :t11) AS renew, gatepost.lease_release('states/g', :t11) AS release,
       gatepost.lease_renew('states/g', :t11) AS renew_again, gatepost.lease_acquire('states/g', '10 min') > :t11 AS acquire,
       gatepost.lease_acquire('states/g', '10 min') AS acquire_again;
SELECT pg_temp.locks_left();
COMMIT;
SELECT count(*) FROM gatepost.leases WHERE name = 'states/g' AND state = 'held';

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'states/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'states/');
SELECT pg_temp.locks_left();
