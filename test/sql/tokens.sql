-- Tokens rise with each new grant and with nothing else; 53 bits: generation, counter, nonce.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- a token changes with its holder, and only then
SELECT gatepost.lease_acquire('token/a', '10 min') AS t1 \gset
SELECT bool_and(gatepost.lease_renew('token/a', :t1, '10 min')) AS renewed FROM generate_series(1, 5);
SELECT token = :t1 AS same FROM gatepost.leases WHERE name = 'token/a';
-- acquired again while held: refused, with no token that would cut off the first
SELECT gatepost.lease_acquire('token/a', '10 min') AS held;
SELECT gatepost.lease_renew('token/a', :t1);
SELECT gatepost.lease_release('token/a', :t1);
SELECT gatepost.lease_acquire('token/a', '1 ms') AS t2 \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''token/a'', $1) = ''lapsed''', :t2);
SELECT gatepost.lease_acquire('token/a', '10 min') AS t3 \gset
SELECT :t1 < :t2 AND :t2 < :t3 AS rising;
SELECT gatepost.lease_release('token/a', :t3);

-- refused tries draw none: the step between two grants stays small
SELECT gatepost.lease_acquire('token/b', '10 min') AS held_token \gset
SELECT count(gatepost.lease_acquire('token/b', '10 min')) AS granted FROM generate_series(1, 2000);
SELECT gatepost.token_draw() - :held_token < 32 * 40 AS small_step;

-- many rounds: all different, rising in the order of the grants, over names
CREATE TEMP TABLE drawn (n int, token bigint);
DO $$
DECLARE
  t bigint;
BEGIN
  FOR n IN 1 .. 1000 LOOP
    t := gatepost.lease_acquire('token/round ' || n % 3, '10 min');
    INSERT INTO drawn VALUES (n, t);
    PERFORM gatepost.lease_release('token/round ' || n % 3, t);
  END LOOP;
END $$;
SELECT count(token) AS granted, count(DISTINCT token) AS different FROM drawn;
SELECT count(*) AS fallen FROM (SELECT token, lag(token) OVER (ORDER BY n) AS earlier FROM drawn) d WHERE token <= earlier;

-- the layout: 19 bits of generation, 29 of counter, 5 of nonce; nothing that a double would lose
SELECT bool_and(token > 0 AND token < 2::bigint ^ 53) AS in_range, bool_and(token::float8::bigint = token) AS exact,
       bool_and(token >> 34 = gatepost.token_generation()) AS generation, count(DISTINCT token & 31) AS nonces
FROM drawn;
SELECT generation = gatepost.token_generation() AS current FROM gatepost.leases WHERE name = 'token/b';
-- the generation is not behind the hours since 2026
SELECT gatepost.token_generation() >= floor(extract(epoch FROM clock_timestamp() - timestamptz '2026-01-01 00:00+00') / 3600) - 1
       AS not_behind;

-- drawn by hand: larger than all before, and never again, also when rolled back
SELECT gatepost.token_draw() AS d1 \gset
BEGIN;
SELECT gatepost.token_draw() AS d2 \gset
ROLLBACK;
SELECT gatepost.token_draw() AS d3 \gset
SELECT :d1 > (SELECT max(token) FROM drawn) AND :d2 > :d1 AND :d3 > :d2 AS rising, :d3 & 31 = :d1 & 31 AS same_nonce;
SELECT gatepost.lease_status('token/b', :d3), gatepost.lease_renew('token/b', :d3), gatepost.lease_release('token/b', :d3);

-- the rows of idle names go, the tokens do not start again
CREATE TABLE token_rows (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO token_rows VALUES (1, 'a', NULL);
DO $$
DECLARE
  t bigint;
BEGIN
  DELETE FROM drawn;
  FOR n IN 1 .. 50 LOOP
    t := gatepost.lease_acquire('token/c', '10 min');
    INSERT INTO drawn VALUES (n, t);
    PERFORM gatepost.lease_release('token/c', t);
  END LOOP;
END $$;
SELECT token AS t49 FROM drawn WHERE n = 49 \gset
SELECT token AS t50 FROM drawn WHERE n = 50 \gset
SELECT gatepost.fenced_update('token_rows', '{"id": 1}', '{"v": "50"}', :t50);
SELECT gatepost.lease_purge('0', 'token/c');
SELECT count(*) FROM gatepost.leases WHERE name = 'token/c';
VACUUM gatepost.lease_slots;
SELECT gatepost.lease_acquire('token/c', '10 min') AS t51 \gset
SELECT :t51 > :t50 AS larger;
SELECT gatepost.fenced_update('token_rows', '{"id": 1}', '{"v": "51"}', :t51);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''token_rows'', ''{"id": 1}'', ''{"v": "49"}'', $1)', :t49), 5);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''token_rows'', ''{"id": 1}'', ''{"v": "50"}'', $1)', :t50), 5);
SELECT v, fence = :t51 AS mark FROM token_rows;

-- raised by hand: by one, or above a token from another history; live leases keep theirs
SELECT gatepost.token_generation() AS g0 \gset
SELECT gatepost.token_raise_generation() AS g1 \gset
SELECT :g1 > :g0 AS risen, gatepost.token_generation() = :g1 AS current;
SELECT gatepost.token_draw() AS d4 \gset
SELECT :d4 > :d3 AS larger, :d4 >> 34 = :g1 AS generation;
SELECT gatepost.lease_status('token/b', :held_token), gatepost.lease_renew('token/b', :held_token),
       gatepost.lease_acquire('token/b', '10 min') AS held;
SELECT token = :held_token AS token, generation = :g0 AS generation FROM gatepost.leases WHERE name = 'token/b';
-- a token of the last generation is still one that was drawn here
SELECT gatepost.fenced_update('token_rows', '{"id": 1}', '{"v": "51 again"}', :t51);
SELECT :d4 + (3::bigint << 34) AS foreign_token \gset
SELECT gatepost.token_raise_generation(:foreign_token) AS g2 \gset
SELECT :g2 > :foreign_token >> 34 AS above, gatepost.token_draw() > :foreign_token AS larger;
-- above something long passed: it still rises, never falls
SELECT gatepost.token_raise_generation(7) > :g2 AS risen;
-- a raise stays when its transaction does not
SELECT gatepost.token_generation() AS g3 \gset
BEGIN;
SELECT gatepost.token_raise_generation() AS g4 \gset
ROLLBACK;
SELECT :g4 > :g3 AS risen, gatepost.token_generation() = :g4 AS stays;
-- above what 53 bits can hold
SELECT pg_temp.ask('SELECT gatepost.token_raise_generation(9007199254740991)');
SELECT gatepost.token_generation() = :g4 AS unchanged;
SELECT gatepost.lease_release('token/b', :held_token), gatepost.lease_release('token/c', :t51);
SELECT gatepost.lease_acquire('token/b', '10 min') AS last_token \gset
SELECT :last_token >> 34 = :g4 AS generation;
SELECT gatepost.lease_release('token/b', :last_token);

SELECT gatepost.lease_purge('0', 'token/') > 0 AS purged, pg_temp.locks_left();
DROP TABLE token_rows;
