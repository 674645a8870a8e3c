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
