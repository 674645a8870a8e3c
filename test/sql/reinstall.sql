-- DROP and CREATE EXTENSION under a session that has used it: calls go on, tokens do not start again.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- a generation that is ahead of the hours is forgotten with the extension, so begin with one that is not
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;

CREATE TABLE reinstall_rows (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO reinstall_rows VALUES (1, 'a', NULL);
SELECT gatepost.lease_acquire('reinstall/a', '10 min') AS a \gset
SELECT gatepost.token_draw() AS newest \gset
SELECT gatepost.fenced_update('reinstall_rows', '{"id": 1}', '{"v": "before"}', :newest);

DROP EXTENSION gatepost;
SELECT gatepost.lease_status('reinstall/a', 7);
SELECT count(*) FROM pg_namespace WHERE nspname = 'gatepost';
SELECT count(*) FROM pg_event_trigger WHERE evtfoid::regproc::text LIKE '%gatepost%';
-- the schema is fixed
CREATE EXTENSION gatepost SCHEMA public;
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION gatepost;
ALTER EXTENSION gatepost SET SCHEMA public;
\echo :LAST_ERROR_SQLSTATE

-- in the same session; nothing is remembered but the order of tokens
SELECT gatepost.lease_status('reinstall/a', :a), (SELECT count(*) FROM gatepost.leases) AS leases;
SELECT gatepost.lease_acquire('reinstall/a', '10 min') AS a2 \gset
SELECT :a2 > :newest AS larger, gatepost.lease_status('reinstall/a', :a), gatepost.lease_renew('reinstall/a', :a);
SELECT gatepost.fenced_update('reinstall_rows', '{"id": 1}', '{"v": "after"}', :a2);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''reinstall_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :newest), 5);
SELECT v FROM reinstall_rows;

-- several times within the hour, used or not, each from the last
CREATE TEMP TABLE drawn (n serial, token bigint);
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
INSERT INTO drawn (token) SELECT gatepost.token_draw() FROM generate_series(1, 100);
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
INSERT INTO drawn (token) SELECT gatepost.lease_acquire('reinstall/b', '10 min');
SELECT count(*) AS fallen FROM (SELECT token, lag(token, 1, :a2) OVER (ORDER BY n) AS earlier FROM drawn) d WHERE token <= earlier;

-- rolled back: the first one is still there
SELECT gatepost.lease_acquire('reinstall/c', '10 min') AS c \gset
BEGIN;
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.lease_acquire('reinstall/c', '10 min') > :c AS granted;
ROLLBACK;
SELECT gatepost.lease_status('reinstall/c', :c), gatepost.lease_renew('reinstall/c', :c), gatepost.lease_acquire('reinstall/c', '10 min') AS held;
SELECT gatepost.token_draw() > :c AS larger;

-- objects planted beforehand are not taken over
DROP EXTENSION gatepost;
CREATE SCHEMA gatepost;
CREATE FUNCTION gatepost.library_version() RETURNS text LANGUAGE sql AS $$ SELECT 'planted' $$;
CREATE EXTENSION gatepost;
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM pg_extension WHERE extname = 'gatepost';
DROP SCHEMA gatepost CASCADE;
CREATE EXTENSION gatepost;
SELECT gatepost.library_version() = extversion AS own FROM pg_extension WHERE extname = 'gatepost';
SELECT pg_temp.locks_left();
DROP TABLE reinstall_rows;
