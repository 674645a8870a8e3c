-- grant_user and grant_administrator: who may call them, what a role can do afterwards, and that it is all or nothing.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE ROLE regress_gatepost_app;
CREATE ROLE "regress_gatepost ""Ops""; --";
CREATE ROLE regress_gatepost_owner;
CREATE ROLE regress_gatepost_all;
CREATE ROLE regress_gatepost_grantor;

-- a role without rights, and then with the list
SET ROLE regress_gatepost_app;
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''granted/a'', ''1 min'')');
RESET ROLE;
SELECT gatepost.grant_user('regress_gatepost_app');
SET ROLE regress_gatepost_app;
SELECT gatepost.lease_acquire('granted/a', '1 min') > 0 AS granted;
SELECT name, state FROM gatepost.leases WHERE name LIKE 'granted/%';
CALL gatepost.lease_acquire_wait('granted/a', '1 min', '0');
SELECT pg_temp.ask('SELECT gatepost.lease_break(''granted/a'')');
SELECT pg_temp.ask('SELECT gatepost.grant_user(''regress_gatepost_app'')');
SELECT pg_temp.ask('SELECT gatepost.grant_administrator(''regress_gatepost_app'')');
RESET ROLE;

-- a name that needs quotes; an administrator gets no more than that
SELECT gatepost.grant_administrator(role => '"regress_gatepost ""Ops""; --"');
SET ROLE "regress_gatepost ""Ops""; --";
SELECT gatepost.lease_break('granted/a') > 0 AS broken;
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''granted/a'', ''1 min'')');
SELECT pg_temp.ask('SELECT gatepost.grant_user(''regress_gatepost_app'')');
RESET ROLE;

-- the rights of the app: once more they are the same, and none can be passed on
CREATE VIEW rights_of AS
SELECT a.grantee::regrole, count(*), count(*) FILTER (WHERE a.is_grantable) AS grantable
FROM (SELECT proacl AS acl FROM pg_proc WHERE pronamespace = 'gatepost'::regnamespace
      UNION ALL SELECT relacl FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace
      UNION ALL SELECT nspacl FROM pg_namespace WHERE nspname = 'gatepost') AS o, aclexplode(acl) AS a
WHERE a.grantee::regrole::text LIKE '%regress%' GROUP BY a.grantee;
CREATE TEMP TABLE before AS SELECT * FROM rights_of;
SELECT gatepost.grant_user('regress_gatepost_app'), gatepost.grant_administrator('"regress_gatepost ""Ops""; --"');
SELECT count(*), count(*) FILTER (WHERE grantable = 0) FROM (TABLE before INTERSECT TABLE rights_of) AS same;

-- all of the list or nothing: what is missing comes last
BEGIN;
DROP OWNED BY regress_gatepost_app;
ALTER VIEW gatepost.semaphores RENAME TO semaphores_of_later;
SELECT pg_temp.ask('SELECT gatepost.grant_user(''regress_gatepost_app'')');
SELECT count(*) FROM rights_of WHERE grantee::text = 'regress_gatepost_app';
ROLLBACK;

-- EXECUTE on everything, and rights that may be passed on, are not enough; to be a member of the extension's owner is
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_all, regress_gatepost_grantor, regress_gatepost_owner WITH GRANT OPTION;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA gatepost TO regress_gatepost_all, regress_gatepost_owner;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA gatepost TO regress_gatepost_grantor WITH GRANT OPTION;
SET ROLE regress_gatepost_all;
SELECT pg_temp.ask('SELECT gatepost.grant_user(''regress_gatepost_all'')');
SELECT pg_temp.ask('SELECT gatepost.grant_administrator(''regress_gatepost_all'')');
SELECT pg_temp.ask('SELECT gatepost.grant_rights(''regress_gatepost_all'', ''{}'')');
SET ROLE regress_gatepost_grantor;
SELECT pg_temp.ask('SELECT gatepost.grant_user(''regress_gatepost_app'')');
RESET ROLE;
DO $$ BEGIN EXECUTE (SELECT format('GRANT %s TO regress_gatepost_owner', extowner::regrole) FROM pg_extension WHERE extname = 'gatepost'); END $$;
CREATE ROLE regress_gatepost_late;
SET ROLE regress_gatepost_owner;
SELECT gatepost.grant_user('regress_gatepost_late');
RESET ROLE;
SET ROLE regress_gatepost_late;
SELECT gatepost.lease_acquire('granted/late', '1 min') > 0 AS granted;
RESET ROLE;

-- arguments
SELECT gatepost.grant_user(NULL);
SELECT gatepost.grant_administrator(NULL);
SELECT gatepost.grant_user('regress_gatepost_nobody');
SELECT gatepost.grant_user(0::regrole);
SELECT gatepost.grant_user(4294967295::oid::regrole);
SELECT gatepost.grant_user('public');
BEGIN READ ONLY;
SELECT gatepost.grant_user('regress_gatepost_app');
ROLLBACK;

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'granted/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'granted/') > 0 AS purged;
DROP VIEW rights_of;
DROP OWNED BY regress_gatepost_app, "regress_gatepost ""Ops""; --", regress_gatepost_all, regress_gatepost_grantor, regress_gatepost_late;
DO $$ BEGIN EXECUTE (SELECT format('REVOKE %s FROM regress_gatepost_owner', extowner::regrole) FROM pg_extension WHERE extname = 'gatepost'); END $$;
DROP OWNED BY regress_gatepost_owner;
DROP ROLE regress_gatepost_app, "regress_gatepost ""Ops""; --", regress_gatepost_owner, regress_gatepost_all, regress_gatepost_grantor, regress_gatepost_late;
