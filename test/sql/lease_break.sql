-- lease_break takes a lease from its holder and fences him: his token is no longer the newest.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE break_rows (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO break_rows VALUES (1, 'a', NULL);

-- nothing is held: nothing is broken
SELECT gatepost.lease_break('break/none') AS never_taken;
SELECT count(*) FROM gatepost.leases WHERE name = 'break/none';
SELECT gatepost.lease_acquire('break/a', '10 min') AS t0 \gset
SELECT gatepost.lease_release('break/a', :t0);
SELECT gatepost.lease_break('break/a') AS released, gatepost.lease_status('break/a', :t0);
SELECT gatepost.lease_acquire('break/lapsed', '1 ms') AS lapsed \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''break/lapsed'', $1) = ''lapsed''', :lapsed);
SELECT gatepost.lease_break('break/lapsed') AS lapsed;

-- only if it is the current one, when a token is given
SELECT gatepost.lease_acquire('break/a', '10 min') AS t1 \gset
SELECT gatepost.lease_break('break/a', :t0) AS earlier_token, gatepost.lease_break('break/a', :t1 - 32) AS other_token,
       gatepost.lease_break('break/other', :t1) AS other_name;
SELECT gatepost.lease_status('break/a', :t1);
SELECT gatepost.fenced_update('break_rows', '{"id": 1}', '{"v": "t1"}', :t1);
SELECT gatepost.lease_break('break/a', :t1, 'holder is stuck') AS t2 \gset
SELECT :t2 > :t1 AS larger;
SELECT gatepost.lease_status('break/a', :t1), gatepost.lease_renew('break/a', :t1, '10 min'), gatepost.lease_release('break/a', :t1);
SELECT state, token = :t2 AS token FROM gatepost.leases WHERE name = 'break/a';
-- the new token is not a lease
SELECT gatepost.lease_renew('break/a', :t2, '10 min'), gatepost.lease_release('break/a', :t2), gatepost.lease_status('break/a', :t2) <> 'held' AS not_held;
-- broken once
SELECT gatepost.lease_break('break/a') AS again, gatepost.lease_break('break/a', :t1) AS again, gatepost.lease_break('break/a', :t2) AS again;

-- whoever broke it may write above the holder at once
SELECT gatepost.fenced_update('break_rows', '{"id": 1}', '{"v": "t2"}', :t2);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''break_rows'', ''{"id": 1}'', ''{"v": "t1"}'', $1)', :t1), 5);
SELECT v, fence = :t2 AS mark FROM break_rows;

-- free for the next
SELECT gatepost.lease_acquire('break/a', '10 min') AS t3 \gset
SELECT :t3 > :t2 AS larger;
SELECT gatepost.lease_status('break/a', :t1), gatepost.lease_status('break/a', :t2), gatepost.lease_status('break/a', :t3);
SELECT gatepost.fenced_update('break_rows', '{"id": 1}', '{"v": "t3"}', :t3);

-- rolled back: held as before, and the token drawn is not drawn again
BEGIN;
SELECT gatepost.lease_break('break/a') AS t4 \gset
SELECT gatepost.lease_status('break/a', :t3);
ROLLBACK;
SELECT gatepost.lease_status('break/a', :t3), gatepost.lease_renew('break/a', :t3);
SELECT gatepost.lease_break('break/a') > :t4 AS larger;

-- break and acquire in one transaction
BEGIN;
SELECT gatepost.lease_acquire('break/b', '10 min') AS b1 \gset
SELECT gatepost.lease_break('break/b') AS b2 \gset
SELECT gatepost.lease_acquire('break/b', '10 min') AS b3 \gset
SELECT gatepost.lease_status('break/b', :b1), gatepost.lease_status('break/b', :b3), :b1 < :b2 AND :b2 < :b3 AS rising, pg_temp.locks_left();
COMMIT;
SELECT gatepost.lease_release('break/b', :b3);

-- bad arguments
SELECT call, pg_temp.ask('SELECT gatepost.' || call) FROM (VALUES
  ($$lease_break(NULL)$$), ($$lease_break('')$$), ($$lease_break('break/a', 0)$$), ($$lease_break('break/a', -7)$$)) AS v(call);

SELECT gatepost.lease_purge('0', 'break/'), pg_temp.locks_left();
DROP TABLE break_rows;
