-- lease_purge drops rows of leases that ended long enough ago; live ones, and the tokens, stay.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire('purge/held', '10 min') AS held, gatepost.lease_acquire('purge/released', '10 min') AS released,
       gatepost.lease_acquire('purge/broken', '10 min') AS broken, gatepost.lease_acquire('purge/lapsed', '1 ms') AS lapsed \gset
SELECT gatepost.lease_release('purge/released', :released), gatepost.lease_break('purge/broken') > 0 AS broken;
SELECT pg_temp.wait_until('gatepost.lease_status(''purge/lapsed'', $1) = ''lapsed''', :lapsed);
SELECT name, state FROM gatepost.leases WHERE name LIKE 'purge/%' ORDER BY name COLLATE "C";

-- too young
SELECT gatepost.lease_purge('1 hour', 'purge/');
SELECT gatepost.lease_purge('1 day', 'purge/');
SELECT count(*) FROM gatepost.leases WHERE name LIKE 'purge/%';
-- old enough; what is held stays
SELECT gatepost.lease_purge('0', 'purge/');
SELECT name, state FROM gatepost.leases WHERE name LIKE 'purge/%' ORDER BY name COLLATE "C";
SELECT gatepost.lease_purge('0', 'purge/');
SELECT gatepost.lease_status('purge/released', :released), gatepost.lease_status('purge/broken', :broken),
       gatepost.lease_status('purge/lapsed', :lapsed), gatepost.lease_status('purge/held', :held);
-- a purged name is as free as a new one, for its old holder too
SELECT gatepost.lease_renew('purge/lapsed', :lapsed, '10 min'), gatepost.lease_release('purge/lapsed', :lapsed);
SELECT gatepost.lease_acquire('purge/lapsed', '10 min') AS t2 \gset
SELECT :t2 > :held AND :t2 > :lapsed AND :t2 > :broken AS larger;
SELECT gatepost.lease_release('purge/lapsed', :t2), gatepost.lease_purge('0', 'purge/lapsed');

-- the prefix is text, not a pattern, and compared by bytes
CREATE TEMP TABLE names (name text);
INSERT INTO names VALUES ('purge/%a'), ('purge/xa'), ('purge/_a'), ('purge/\a'), ('purge/A'), ('purge/a'), ('purge/ab'), ('Purge/a'), ('purge');
SELECT bool_and(gatepost.lease_release(name, gatepost.lease_acquire(name, '10 min'))) AS released FROM names;
SELECT prefix, gatepost.lease_purge('0', prefix) AS purged
FROM (VALUES ('purge/%'), ('purge/_'), ('purge/\'), ('purge/a'), ('purge/ab'), ('P'), ('purge/nothing')) AS v(prefix);
SELECT name, state FROM gatepost.leases WHERE name ILIKE 'purge%' ORDER BY name COLLATE "C";
-- no prefix: all names
SELECT gatepost.lease_purge('0') >= 3 AS purged;
SELECT count(*) FROM gatepost.leases WHERE name ILIKE 'purge%' AND state <> 'held';

-- as many as there are, in one call; then the table is used on
SELECT count(gatepost.lease_release(name, gatepost.lease_acquire(name, '10 min')))
FROM (SELECT 'purge/many ' || n FROM generate_series(1, 3000) AS n) AS v(name);
SELECT gatepost.lease_purge('0', 'purge/many '), gatepost.lease_purge('0', 'purge/many '), pg_temp.locks_left();

-- rolled back: the rows are back
SELECT gatepost.lease_acquire('purge/back', '10 min') AS back \gset
SELECT gatepost.lease_release('purge/back', :back);
BEGIN;
SELECT gatepost.lease_purge('0', 'purge/back'), gatepost.lease_status('purge/back', :back);
ROLLBACK;
SELECT gatepost.lease_status('purge/back', :back), gatepost.lease_purge('0', 'purge/back');

-- bad arguments
SELECT call, pg_temp.ask('SELECT gatepost.' || call) FROM (VALUES
  ($$lease_purge(NULL)$$), ($$lease_purge('1 day', NULL)$$), ($$lease_purge('-1 microsecond')$$),
  ($$lease_purge('-1 day 23 hours', 'purge/')$$), ($$lease_purge('1 mon')$$)) AS v(call);
SELECT gatepost.lease_release('purge/held', :held), gatepost.lease_purge('0', 'purge/');
