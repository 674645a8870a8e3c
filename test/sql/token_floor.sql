-- The table floor carries the last token through a dump: what is loaded into it raises the generation and stays nowhere.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.token_draw() AS before_load \gset
-- an older dump: tokens do not go back
INSERT INTO gatepost.floor VALUES (5);
SELECT gatepost.token_draw() AS t1 \gset
SELECT :t1 > :before_load AS larger, (SELECT count(*) FROM gatepost.floor) AS rows;
-- a dump of a server that is ahead, by COPY as pg_restore loads it
SELECT :t1 + (2::bigint << 34) AS ahead \gset
CREATE TEMP TABLE dumped AS SELECT :ahead::bigint AS token;
INSERT INTO gatepost.floor SELECT token FROM dumped;
SELECT gatepost.token_draw() AS t2 \gset
SELECT :t2 > :ahead AS larger, (SELECT count(*) FROM gatepost.floor) AS rows;
COPY gatepost.floor FROM STDIN;
77
\.
SELECT gatepost.token_draw() > :t2 AS larger, (SELECT count(*) FROM gatepost.floor) AS rows;
-- under replica, as pg_restore --disable-triggers would
SET session_replication_role = replica;
SELECT gatepost.token_draw() + (2::bigint << 34) AS ahead \gset
INSERT INTO gatepost.floor VALUES (:ahead);
RESET session_replication_role;
SELECT gatepost.token_draw() > :ahead AS larger, (SELECT count(*) FROM gatepost.floor) AS rows;
-- rolled back: it stays risen
SELECT gatepost.token_draw() + (2::bigint << 34) AS ahead \gset
BEGIN;
INSERT INTO gatepost.floor VALUES (:ahead);
ROLLBACK;
SELECT gatepost.token_draw() > :ahead AS larger;
-- no tokens
SELECT value, left(pg_temp.try('INSERT INTO gatepost.floor VALUES ($1)', value), 5) FROM (VALUES (NULL::bigint), (0), (-1), (9007199254740992)) AS v(value);
SELECT count(*) FROM gatepost.floor;
-- what pg_dump asks for: one row, the last token
SELECT gatepost.token_draw() AS newest \gset
SELECT 'SELECT count(*), bool_and(token = $1) AS newest FROM (SELECT token FROM ONLY gatepost.floor ' || extcondition[1] || ') AS f'
       AS dump FROM pg_extension WHERE extname = 'gatepost' \gset
SELECT pg_temp.ask(:'dump') AS rows, pg_temp.ask(replace(:'dump', 'count(*), ', ''), :newest) AS newest;

-- the trigger is for floor only: elsewhere it would let whoever may create a trigger raise the generation
CREATE TABLE pg_temp.floor (token bigint);
CREATE TRIGGER floor_loaded BEFORE INSERT ON pg_temp.floor FOR EACH ROW EXECUTE FUNCTION gatepost.floor_loaded();
SELECT pg_temp.ask('INSERT INTO pg_temp.floor VALUES (400000::bigint << 34)');
CREATE TABLE pg_temp.by_statement (a int);
CREATE TRIGGER floor_loaded BEFORE INSERT ON pg_temp.by_statement FOR EACH STATEMENT EXECUTE FUNCTION gatepost.floor_loaded();
SELECT pg_temp.ask('INSERT INTO pg_temp.by_statement VALUES (1)');
CREATE TABLE pg_temp.no_column ();
CREATE TRIGGER floor_loaded AFTER DELETE ON pg_temp.no_column FOR EACH ROW EXECUTE FUNCTION gatepost.floor_loaded();
INSERT INTO pg_temp.no_column DEFAULT VALUES;
SELECT pg_temp.ask('DELETE FROM pg_temp.no_column');
-- generations are left to raise to
SELECT pg_temp.ask('INSERT INTO gatepost.floor VALUES (514288::bigint << 34)');
SELECT gatepost.token_generation() < 400000 AS not_raised;

-- a sequence that has lost its value: the next token of a name is still above its last one
SELECT gatepost.lease_acquire('floor/fallen', '1 min') AS before \gset
SELECT gatepost.lease_release('floor/fallen', :before);
ALTER SEQUENCE gatepost.token_sequence RESTART;
SELECT gatepost.lease_acquire('floor/fallen', '1 min') AS after \gset
SELECT :after > :before AS above;
SELECT setval('gatepost.token_sequence', 1) AS lost \g /dev/null
SELECT gatepost.lease_break('floor/fallen') > :after AS above;
SELECT gatepost.lease_purge('0', 'floor/') AS purged;
