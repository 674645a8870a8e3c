-- Marks of resources outside the database: lower, equal, higher; whose tokens; what a call leaves behind.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.token_draw() AS t1 \gset
SELECT gatepost.token_draw() AS t2 \gset
SELECT gatepost.token_draw() AS t3 \gset
-- the answer to a token, long numbers hidden
CREATE FUNCTION pg_temp.advance(resource text, token bigint) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(pg_temp.ask(format('SELECT gatepost.fence_advance(%L, $1)', resource), token), '\d{10,}', 'N', 'g')
$$;

-- none, first, equal, higher, lower
SELECT gatepost.fence_mark('mark/a') AS none;
SELECT pg_temp.advance('mark/a', :t2) AS first, pg_temp.advance('mark/a', :t2) AS equal, pg_temp.advance('mark/a', :t1) AS lower,
       gatepost.fence_mark('mark/a') = :t2 AS mark;
SELECT pg_temp.advance('mark/a', :t3) AS higher, pg_temp.advance('mark/a', :t2) AS lower, gatepost.fence_mark('mark/a') = :t3 AS mark;
-- each resource has its own, by bytes
SELECT pg_temp.advance('mark/A', :t1), pg_temp.advance('mark/a ', :t1), gatepost.fence_mark('mark/A') = :t1 AS mark;
SELECT gatepost.fence_advance(repeat('ä', 512), :t1), gatepost.fence_mark(repeat('ä', 512)) = :t1 AS longest;
-- the token of a lease
SELECT gatepost.lease_acquire('mark/lease', '1 min') AS lease \gset
SELECT pg_temp.advance('mark/a', :lease), pg_temp.advance('mark/a', :t3), gatepost.lease_release('mark/lease', :lease);

-- bad input changes nothing
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
SELECT c, pg_temp.ask('SELECT gatepost.' || c, :lease) FROM unnest(ARRAY[
  'fence_advance(NULL, $1)', 'fence_advance(''mark/a'', NULL)', 'fence_advance(''mark/a'', $1, NULL)', 'fence_advance('''', $1)',
  'fence_advance(repeat(''x'', 1025), $1)', 'fence_advance(''mark/a'', 0)', 'fence_advance(''mark/a'', -1)',
  'fence_advance(''mark/a'', 9007199254740992)', 'fence_advance(''mark/a'', $1, ''Any'')',
  'fence_advance(''mark/a'', $1, '''')', 'fence_advance(''mark/z'', 0, ''any'')', 'fence_advance(''mark/z'', -9223372036854775808, ''any'')',
  'fence_advance(''mark/z'', NULL, ''any'')', 'fence_mark(NULL)', 'fence_mark('''')', 'fence_mark(repeat(''x'', 1025))']) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT left(pg_temp.ask('SELECT gatepost.fence_advance(''mark/a'', 9007199254740991)'), 5) AS never_drawn;
\pset format aligned
\pset tuples_only off
SELECT count(*) FROM gatepost.marks WHERE resource = 'mark/z';
SELECT gatepost.fence_mark('mark/a') = :lease AS unchanged;

-- tokens of another lease system: any positive number, only the order counts; a resource stays with its issuer
SELECT gatepost.fence_advance('mark/zxid', 7, 'any') AS first, gatepost.fence_advance('mark/zxid', 9007199254740992, 'any') AS above_ours,
       gatepost.fence_advance('mark/zxid', 9223372036854775807, 'any') AS highest, gatepost.fence_advance('mark/zxid', 9223372036854775807, 'any') AS equal,
       gatepost.fence_advance('mark/zxid', 9223372036854775806, 'any') AS lower, gatepost.fence_mark('mark/zxid');
SELECT pg_temp.ask('SELECT gatepost.fence_advance(''mark/zxid'', $1)', :t1);
SELECT pg_temp.ask('SELECT gatepost.fence_advance(''mark/A'', 9223372036854775807, ''any'')');
SELECT gatepost.fence_mark('mark/zxid'), gatepost.fence_mark('mark/A') = :t1 AS unchanged;
-- nor has another system's number a generation of ours
SELECT gatepost.fence_advance('mark/etcd', 1001, 'any'), gatepost.fence_advance('mark/etcd', 1002, 'any');

-- a token of the same generation with another nonce was drawn by a server that was promoted apart: neither is older
SELECT (:t1 & ~31::bigint) | ((:t1 + 1) & 31) AS apart \gset
SELECT gatepost.fence_advance('mark/split', :t2) AS first, pg_temp.advance('mark/split', :apart) AS lower;
SELECT position(:apart::text IN answer) > 0 AND position(:t2::text IN answer) > 0 AS both_named
FROM pg_temp.ask('SELECT gatepost.fence_advance(''mark/split'', $1)', :apart) AS answer;
SELECT gatepost.fence_advance('mark/split 2', :apart) AS first, pg_temp.advance('mark/split 2', :t2) AS higher,
       gatepost.fence_mark('mark/split 2') = :apart AS unchanged;
SELECT pg_temp.detail('SELECT gatepost.fence_advance(''mark/split'', $1)', :apart);
-- with the next generation one of them goes on
SELECT gatepost.token_raise_generation() > :t1 >> 34 AS raised;
SELECT gatepost.token_draw() AS t4 \gset
SELECT pg_temp.advance('mark/split', :t4), pg_temp.advance('mark/split 2', :t4), pg_temp.advance('mark/split', :apart);

-- what a call leaves in its transaction: stale nothing, equal a lock, a raise its row too
CREATE FUNCTION pg_temp.traces(OUT xid boolean, OUT advisory_locks bigint) LANGUAGE sql AS $$
  SELECT pg_current_xact_id_if_assigned() IS NOT NULL, pg_temp.locks_left()
$$;
BEGIN;
SELECT gatepost.fence_advance('mark/a', :t1) AS stale, gatepost.fence_mark('mark/a') = :lease AS mark;
SELECT * FROM pg_temp.traces();
SELECT gatepost.fence_advance('mark/a', :lease) AS equal;
SELECT * FROM pg_temp.traces();
SELECT gatepost.fence_advance('mark/a', :t4) AS higher;
SELECT * FROM pg_temp.traces();
COMMIT;
SELECT * FROM pg_temp.traces();

-- rolled back, the mark is what it was: true counts when its transaction commits
BEGIN;
SELECT gatepost.fence_advance('mark/b', :t2);
SAVEPOINT one;
SELECT gatepost.fence_advance('mark/b', :t3), gatepost.fence_mark('mark/b') = :t3 AS own;
ROLLBACK TO one;
SELECT gatepost.fence_mark('mark/b') = :t2 AS mark, pg_temp.advance('mark/b', :t2) AS equal;
ROLLBACK;
SELECT gatepost.fence_mark('mark/b') AS none, pg_temp.locks_left();

-- not in what cannot wait for its commit, nor where nothing may be changed
BEGIN;
SELECT gatepost.fence_advance('mark/a', :t4) AS equal;
PREPARE TRANSACTION 'marks';
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT gatepost.fence_mark('mark/a') = :t4 AS mark;
SELECT gatepost.fence_advance('mark/a', :t4);
ROLLBACK;
-- a lock that waits for a live lease would wait unseen
SELECT gatepost.lease_acquire('mark/live', '1 min') AS live \gset
BEGIN;
SELECT gatepost.fence_advance('mark/a', :t4);
SELECT pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''mark/live'', ''1 s'')');
COMMIT;
SELECT gatepost.lease_release('mark/live', :live);

-- where a standby is asked for, an equal token waits for it too
SET gatepost.durability = 'standby';
SELECT gatepost.fence_advance('mark/a', :t4);
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.fence_advance('mark/a', gatepost.token_draw());
\echo :LAST_ERROR_SQLSTATE
SELECT gatepost.fence_advance('mark/a', :t1) AS stale;
RESET gatepost.durability;
SELECT gatepost.fence_mark('mark/a') = :t4 AS unchanged;

-- as a role that has no right on the tables; the role in force is the caller's again, after an error too
CREATE ROLE regress_gatepost_marks;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_marks;
SET ROLE regress_gatepost_marks;
SELECT pg_temp.ask('SELECT gatepost.fence_advance(''mark/r'', $1)', :t1), pg_temp.ask('SELECT gatepost.fence_mark(''mark/r'')'),
       pg_temp.ask('SELECT gatepost.fence_claim(''mark/r'', ''k'', $1)', :t1), pg_temp.ask('SELECT gatepost.fence_purge(''0'')');
RESET ROLE;
GRANT EXECUTE ON FUNCTION gatepost.fence_advance, gatepost.fence_mark, gatepost.fence_claim, gatepost.fence_purge TO regress_gatepost_marks;
SET ROLE regress_gatepost_marks;
SELECT gatepost.fence_advance('mark/r', :t1), gatepost.fence_mark('mark/r') = :t1 AS mark, gatepost.fence_claim('mark/r', 'k', :t1) AS claimed, current_user;
SELECT left(pg_temp.ask('SELECT gatepost.fence_advance(''mark/zxid'', $1)', :t1), 5), current_user;
SELECT pg_temp.ask('SELECT gatepost.fence_purge(''0'')');
SELECT pg_temp.ask('SELECT count(*) FROM gatepost.marks'), pg_temp.ask('SELECT count(*) FROM gatepost.claims');
RESET ROLE;
DROP OWNED BY regress_gatepost_marks;
DROP ROLE regress_gatepost_marks;

-- the extension made anew under the session: marks go with it
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.fence_mark('mark/a') AS none, gatepost.fence_advance('mark/a', gatepost.token_draw()) AS first;
-- raises are heap-only
CREATE TEMP TABLE drawn AS SELECT gatepost.token_draw() AS token FROM generate_series(1, 50);
SELECT count(*) FROM drawn WHERE gatepost.fence_advance('mark/hot', token);
SELECT pg_stat_force_next_flush();
SELECT n_tup_upd - n_tup_hot_upd <= 2 AS heap_only, n_tup_upd >= 49 AS raised FROM pg_stat_user_tables WHERE relid = 'gatepost.marks'::regclass;
