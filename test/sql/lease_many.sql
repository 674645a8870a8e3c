-- Many leases renewed or released in one call: what comes back, and what one bad name does to the others.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- held, and beside them each way in which a lease can be lost
SELECT gatepost.lease_acquire('many/a', '1 h') AS a, gatepost.lease_acquire('many/b', '1 h') AS b, gatepost.lease_acquire('many/lapsed', '1 ms') AS lapsed,
  gatepost.lease_acquire('many/released', '1 h') AS released, gatepost.lease_acquire('many/superseded', '1 h') AS superseded,
  gatepost.lease_acquire('many/broken', '1 h') AS broken, gatepost.lease_acquire('many/shut', '1 ms') AS shut \gset
SELECT gatepost.lease_release('many/released', :released), gatepost.lease_release('many/superseded', :superseded),
  gatepost.lease_acquire('many/superseded', '1 h') > :superseded AS taken, gatepost.lease_break('many/broken') > :broken AS broken;
SELECT pg_temp.wait_until('gatepost.lease_status(''many/lapsed'', $1) = ''lapsed''', :lapsed), pg_temp.wait_until('gatepost.lease_status(''many/shut'', $1) = ''lapsed''', :shut);
BEGIN;
SELECT gatepost.try_advisory_xact_lock('many/shut');
COMMIT;
\set names 'ARRAY[''many/b'', ''many/lapsed'', ''many/released'', ''many/superseded'', ''many/broken'', ''many/shut'', ''many/absent'', ''many/a'']'
\set tokens 'ARRAY[:b, :lapsed, :released, :superseded, :broken, :shut, 5, :a]::bigint[]'

SELECT name, token = ANY (:tokens) AS passed, status, detail FROM gatepost.lease_renew_many(:names, :tokens, '2 h');
SELECT name, ttl, remaining > '1 h' AS longer FROM gatepost.leases WHERE name IN ('many/a', 'many/b') ORDER BY name;
-- as lease_status says
SELECT bool_and(detail = gatepost.lease_status(name, token)) AS alike FROM gatepost.lease_renew_many(:names, :tokens);
-- without ttl: as long as last time
SELECT count(*) FROM gatepost.lease_renew_many(ARRAY['many/a', 'many/b'], ARRAY[:a, :b]);
SELECT name, ttl FROM gatepost.leases WHERE name IN ('many/a', 'many/b') ORDER BY name;
-- another's token, and one that was never drawn
SELECT name, status, detail FROM gatepost.lease_renew_many(ARRAY['many/a', 'many/b'], ARRAY[:b, 9007199254740991]);
SELECT name, status, detail FROM gatepost.lease_release_many(ARRAY['many/b', 'many/a'], ARRAY[:a, 9007199254740991]);
-- again in the same statement, and over the same rows of an open transaction
SELECT (SELECT count(*) FROM gatepost.lease_renew_many(ARRAY['many/a'], ARRAY[:a])) + (SELECT count(*) FROM gatepost.lease_renew_many(ARRAY['many/a'], ARRAY[:a])) AS told;
BEGIN;
SELECT * FROM gatepost.lease_renew_many(ARRAY['many/a', 'many/b'], ARRAY[:a, :b]);
SELECT * FROM gatepost.lease_release_many(ARRAY['many/a', 'many/b'], ARRAY[:a, :b]);
SELECT name, status, detail FROM gatepost.lease_renew_many(ARRAY['many/a', 'many/b'], ARRAY[:a, :b]);
ROLLBACK;
SELECT name, state FROM gatepost.leases WHERE name IN ('many/a', 'many/b') ORDER BY name;
SELECT pg_temp.locks_left();

-- roles: who may not hold the name is told what an absent name tells
CREATE ROLE many_member;
CREATE ROLE many_stranger;
GRANT USAGE ON SCHEMA gatepost TO many_member, many_stranger;
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.lease_renew_many, gatepost.lease_release_many TO many_member, many_stranger;
SET ROLE many_stranger;
SELECT name, status, detail FROM gatepost.lease_renew_many(ARRAY['many/a', 'many/b', 'many/absent'], ARRAY[:a, :b, 5]);
SELECT name, status, detail FROM gatepost.lease_release_many(ARRAY['many/a', 'many/b', 'many/absent'], ARRAY[:a, :b, 5]);
SELECT gatepost.lease_acquire('many/ruled', '1 h') AS ruled \gset
RESET ROLE;
SELECT gatepost.rule_add('many/ruled', 'many_member', 'hold');
SET ROLE many_stranger;
SELECT name, status, detail FROM gatepost.lease_renew_many(ARRAY['many/ruled'], ARRAY[:ruled]);
SELECT name, status, detail FROM gatepost.lease_release_many(ARRAY['many/ruled'], ARRAY[:ruled]);
RESET ROLE;
SELECT gatepost.rule_drop('many/ruled', 'many_member', 'hold');
SELECT gatepost.lease_status('many/ruled', :ruled), gatepost.lease_status('many/a', :a);

-- released, and those that are not
SELECT name, status, detail FROM gatepost.lease_release_many(:names, :tokens);
SELECT name, status, detail FROM gatepost.lease_release_many(:names, :tokens);
SELECT gatepost.lease_acquire('many/a', '1 h') > :a AS granted, gatepost.lease_break('many/a') > 0 AS broken;

-- bad arguments: an error that names the argument, and nothing is changed
SELECT gatepost.lease_acquire('many/c', '1 h') AS c \gset
SELECT count(*) AS before, (array_agg(renewed_at ORDER BY name))[1] AS at FROM gatepost.leases WHERE name LIKE 'many/c' \gset
SELECT c || ' => ' || pg_temp.ask('SELECT gatepost.' || c, :c) FROM unnest(ARRAY[
  $$lease_renew_many(NULL, '{1}')$$,
  $$lease_renew_many('{a}', NULL)$$,
  $$lease_renew_many('{}', '{}')$$,
  $$lease_renew_many('{many/c,NULL}', ARRAY[$1, $1])$$,
  $$lease_renew_many('{many/c,b}', ARRAY[$1, NULL])$$,
  $$lease_renew_many('{many/c,""}', ARRAY[$1, $1])$$,
  $$lease_renew_many(ARRAY['many/c', repeat('x', 1025)], ARRAY[$1, $1])$$,
  $$lease_renew_many('{many/c,b}', ARRAY[$1, 0])$$,
  $$lease_renew_many('{many/c,b}', ARRAY[$1, 9007199254740992])$$,
  $$lease_renew_many('{many/c,b}', ARRAY[$1])$$,
  $$lease_renew_many('{many/c}', ARRAY[$1, 1, 2])$$,
  $$lease_renew_many('{many/c,b,many/c}', ARRAY[$1, 1, $1])$$,
  $$lease_renew_many('{{many/c,b}}', ARRAY[$1, 1])$$,
  $$lease_renew_many('{many/c,b}', ARRAY[ARRAY[$1, 1]])$$,
  $$lease_renew_many('{many/c}', ARRAY[$1], '0')$$,
  $$lease_renew_many('{many/c}', ARRAY[$1], '1 mon')$$,
  $$lease_renew_many('{many/c}', ARRAY[$1], '2 days')$$,
  $$lease_release_many(NULL, '{1}')$$,
  $$lease_release_many('{a}', NULL)$$,
  $$lease_release_many('{}', '{}')$$,
  $$lease_release_many('{many/c,NULL}', ARRAY[$1, $1])$$,
  $$lease_release_many('{many/c,b}', ARRAY[$1, -1])$$,
  $$lease_release_many('{many/c,b}', ARRAY[$1])$$,
  $$lease_release_many('{many/c,b,b}', ARRAY[$1, 1, 1])$$,
  $$lease_release_many('{{many/c,b},{d,e}}', ARRAY[$1, 1])$$]) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT count(*) = :before AS same, (array_agg(renewed_at))[1] = :'at' AS untouched FROM gatepost.leases WHERE name LIKE 'many/c' AND state = 'held';
BEGIN READ ONLY;
SELECT * FROM gatepost.lease_renew_many('{many/c}', ARRAY[:c]);
ROLLBACK;
-- a lower bound of its own is as good as 1
SELECT * FROM gatepost.lease_renew_many('[5:5]={many/c}', '[0:0]={5}'::bigint[] || '{}'::bigint[]);

-- 100,000 entries
SELECT count(gatepost.lease_acquire('many/' || n, '1 h')) FROM generate_series(1, 1000) AS n;
CREATE TEMP TABLE entries AS
  SELECT 'many/' || n AS name, coalesce((SELECT token FROM gatepost.leases AS l WHERE l.name = 'many/' || n AND n <= 1000), 1) AS token
  FROM generate_series(1, 100000) AS n;
SELECT status, detail, count(*) FROM (SELECT array_agg(name) AS names, array_agg(token) AS tokens FROM entries) AS e, gatepost.lease_renew_many(names, tokens, '2 h')
GROUP BY status, detail;
SELECT count(*) FROM gatepost.leases WHERE name LIKE 'many/%' AND ttl = '2 h' AND state = 'held';
SELECT status, detail, count(*) FROM (SELECT array_agg(name) AS names, array_agg(token) AS tokens FROM entries) AS e, gatepost.lease_release_many(names, tokens)
GROUP BY status, detail;
SELECT state, count(*) FROM gatepost.leases WHERE name ~ '^many/[0-9]+$' GROUP BY state;

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'many/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'many/') > 1000 AS purged;
DROP OWNED BY many_member, many_stranger;
DROP ROLE many_member, many_stranger;
