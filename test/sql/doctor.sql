-- Each finding of doctor() provoked and seen, and none of them on a healthy server. What needs a second session, a standby
-- or another configuration is in t/160_doctor.pl.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\set QUIET on
CREATE DATABASE regress_doctor;
\c regress_doctor
\i :common
SET idle_in_transaction_session_timeout = '10 min';

-- What is found. The clock of this machine is as it is.
CREATE FUNCTION pg_temp.found() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(' | ', severity, subject, detail, fix)
  FROM gatepost.doctor() WHERE subject <> 'clock' OR severity <> 'notice'
$$;

\echo -- a healthy server
CREATE TABLE doc_lease (id int PRIMARY KEY);
CREATE TABLE doc_tree (id int, fence bigint) PARTITION BY LIST (id);
CREATE TABLE doc_leaf PARTITION OF doc_tree FOR VALUES IN (1);
CREATE INDEX ON doc_leaf (fence);
SELECT gatepost.fence_protect('doc_lease', lease => 'doc'), gatepost.fence_protect('doc_tree', fence_column => 'fence');
SELECT gatepost.lease_acquire('doc', '1 h') AS token \gset
BEGIN;
SELECT gatepost.fence_use('doc', :token);
INSERT INTO doc_tree VALUES (1, NULL);
SELECT gatepost.advisory_xact_lock('doc/lock');
SELECT pg_temp.found();
COMMIT;
SELECT pg_temp.found();
SELECT count(*) FROM gatepost.doctor() WHERE severity <> 'notice';

\echo -- settings
RESET idle_in_transaction_session_timeout;
SELECT pg_temp.found();
SET idle_in_transaction_session_timeout = '10 min';
SET track_activities = off;
SELECT pg_temp.found();
RESET track_activities;
SET synchronous_commit = off;
SELECT pg_temp.found();
RESET synchronous_commit;
SET gatepost.durability = standby;
SELECT pg_temp.found();
RESET gatepost.durability;
CREATE ROLE regress_doctor_asking;
ALTER ROLE regress_doctor_asking IN DATABASE regress_doctor SET gatepost.durability = standby;
SELECT pg_temp.found();
DROP ROLE regress_doctor_asking;

\echo -- protection
ALTER TABLE doc_leaf DISABLE TRIGGER zz_gatepost_fence;
SELECT pg_temp.found();
ALTER TABLE doc_leaf ENABLE ALWAYS TRIGGER zz_gatepost_fence;
ALTER EVENT TRIGGER gatepost_fences_follow_ddl DISABLE;
ALTER EVENT TRIGGER gatepost_refuse_in_constraints ENABLE;
SELECT pg_temp.found();
ALTER EVENT TRIGGER gatepost_fences_follow_ddl ENABLE ALWAYS;
ALTER EVENT TRIGGER gatepost_refuse_in_constraints ENABLE ALWAYS;
BEGIN;
ALTER EXTENSION gatepost DROP EVENT TRIGGER gatepost_fences_follow_ddl;
SELECT pg_temp.found();
ROLLBACK;
ALTER TABLE gatepost.marks DISABLE TRIGGER guard_rows;
ALTER TABLE gatepost.floor DISABLE TRIGGER floor_loaded;
INSERT INTO gatepost.floor VALUES (1);
SELECT pg_temp.found();
TRUNCATE gatepost.floor;
ALTER TABLE gatepost.floor ENABLE ALWAYS TRIGGER floor_loaded;
ALTER TABLE gatepost.marks ENABLE ALWAYS TRIGGER guard_rows;
SELECT pg_temp.found();

\echo -- marks that come from elsewhere, by the sort of index
CREATE TABLE doc_up (id int PRIMARY KEY, fence bigint);
CREATE TABLE doc_down (id int, fence bigint);
CREATE TABLE doc_none (id int, fence bigint);
CREATE TABLE doc_partial (id int, fence bigint);
CREATE TABLE doc_second (id int, fence bigint);
CREATE TABLE doc_expression (id int, fence bigint);
CREATE TABLE doc_any (id int, fence bigint);
CREATE TABLE doc_between (id int, fence bigint);
CREATE INDEX ON doc_up (fence, id);
CREATE INDEX ON doc_down (fence DESC NULLS LAST);
CREATE INDEX ON doc_partial (fence) WHERE id > 1;
CREATE INDEX ON doc_second (id, fence);
CREATE INDEX ON doc_expression ((fence + 1));
CREATE INDEX ON doc_any (fence);
CREATE INDEX ON doc_between (fence);
INSERT INTO doc_up VALUES (1, NULL), (2, 9007199254740990), (3, 9007199254740991), (4, 5);
INSERT INTO doc_down TABLE doc_up;
INSERT INTO doc_none TABLE doc_up;
INSERT INTO doc_partial TABLE doc_up;
INSERT INTO doc_any TABLE doc_up;
INSERT INTO doc_between VALUES (1, NULL), (2, :token), (3, 5);
SELECT gatepost.fence_protect(t, fence_column => 'fence', issuer => CASE t WHEN 'doc_any' THEN 'any' ELSE 'gatepost' END)
FROM unnest('{doc_up,doc_down,doc_none,doc_partial,doc_second,doc_expression,doc_any,doc_between}'::text[]) AS t;
SELECT severity, detail, fix FROM gatepost.doctor() WHERE subject = 'marks';
SELECT gatepost.doctor_mark_above('doc_up'), gatepost.doctor_mark_above('doc_down'), gatepost.doctor_mark_above('doc_between'),
       gatepost.doctor_mark_above('doc_lease'), gatepost.doctor_mark_above('pg_class');
SELECT pg_temp.ask('SELECT gatepost.doctor_mark_above(NULL)');
-- nobody's function runs, whatever the index says
CREATE FUNCTION doc_planted() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'planted'; RETURN true; END $$;
SET client_min_messages = error;
CREATE INDEX ON doc_second (fence) WHERE doc_planted();
RESET client_min_messages;
SELECT gatepost.doctor_mark_above('doc_second') IS NULL;
-- deleted marks do not count
BEGIN;
ALTER TABLE doc_up DISABLE TRIGGER USER;
DELETE FROM doc_up WHERE id = 3;
SELECT gatepost.doctor_mark_above('doc_up');
ROLLBACK;
DROP TABLE doc_up, doc_down, doc_none, doc_partial, doc_second, doc_expression, doc_any;
SELECT pg_temp.found();

\echo -- rights
CREATE ROLE regress_doctor_gone;
GRANT USAGE ON SCHEMA gatepost TO PUBLIC;
GRANT EXECUTE ON FUNCTION gatepost.lease_break TO PUBLIC;
GRANT SELECT, UPDATE ON gatepost.lease_slots TO PUBLIC;
GRANT USAGE ON SEQUENCE gatepost.token_sequence TO PUBLIC;
SELECT pg_temp.found();
REVOKE USAGE ON SCHEMA gatepost FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gatepost.lease_break(text, bigint, text) FROM PUBLIC;
REVOKE SELECT ON TABLE gatepost.lease_slots FROM PUBLIC;
REVOKE UPDATE ON TABLE gatepost.lease_slots FROM PUBLIC;
REVOKE USAGE ON SEQUENCE gatepost.token_sequence FROM PUBLIC;
SELECT gatepost.rule_add('it''s/', 'regress_doctor_gone', 'hold');
SELECT gatepost.fence_protect('doc_lease', lease => 'doc', exempt => '{regress_doctor_gone}');
SELECT pg_temp.found();
GRANT USAGE ON SCHEMA gatepost TO regress_doctor_gone;
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire TO regress_doctor_gone;
SET ROLE regress_doctor_gone;
SELECT gatepost.lease_acquire('doc/gone', '1 h') > 0;
RESET ROLE;
DROP OWNED BY regress_doctor_gone;
DROP ROLE regress_doctor_gone;
SELECT pg_temp.found();
SELECT gatepost.rule_drop('it''s/', 'regress_doctor_gone', 'hold');
SELECT gatepost.fence_protect('doc_lease', lease => 'doc');
SELECT gatepost.lease_break('doc/gone') > 0;
SELECT pg_temp.found();

\echo -- versions
BEGIN;
UPDATE pg_extension SET extversion = '0.0' WHERE extname = 'gatepost';
SELECT pg_temp.found();
ROLLBACK;
SELECT count(*) FROM gatepost.doctor_versions((SELECT built_for FROM gatepost.doctor_facts()));
SELECT severity, regexp_replace(detail, 'this is .*', 'this is another') FROM gatepost.doctor_versions(190003);
SELECT built_for / 10000 = current_setting('server_version_num')::int / 10000, timeline FROM gatepost.doctor_facts();

\echo -- clock
SELECT * FROM gatepost.doctor_clock('hpet', E'monotonic           0         0\nboottime        -86400         0\n');
SELECT * FROM gatepost.doctor_clock(E'tsc\n', E'monotonic           7         0\nboottime            0         0\n');
SELECT * FROM gatepost.doctor_clock(NULL, NULL);

\echo -- a copy of the database has another history until something is changed
\c postgres
CREATE DATABASE regress_doctor_copy TEMPLATE regress_doctor;
\c regress_doctor_copy
SET idle_in_transaction_session_timeout = '10 min';
SELECT severity, detail, fix FROM gatepost.doctor() WHERE subject = 'tokens';
SELECT gatepost.token_draw() > 0;
SELECT tokens_drawn_total FROM gatepost.stats;
\c regress_doctor
SET idle_in_transaction_session_timeout = '10 min';
DROP DATABASE regress_doctor_copy;

\echo -- tokens: the number that doctor says brings them above after DROP and CREATE EXTENSION
DROP TABLE doc_lease, doc_tree, doc_between;
SELECT gatepost.token_raise_generation((500000::bigint << 34) + 64);
SELECT severity, regexp_replace(detail, '[0-9]{4,}', 'N', 'g'), regexp_replace(fix, '[0-9]{4,}', 'N') FROM gatepost.doctor();
SELECT last_value AS last FROM gatepost.token_sequence \gset
SELECT substring(fix FROM 'SELECT .*') AS mending FROM gatepost.doctor() WHERE subject = 'tokens' \gset
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;
SELECT gatepost.token_draw() < :last AS lower;
:mending
SELECT gatepost.token_draw() > :last AS higher;
SELECT setval('gatepost.token_sequence', (514287::bigint << 34) + (500000000::bigint << 5));
SELECT severity, detail FROM gatepost.doctor() WHERE detail NOT LIKE '%ahead of the hours%';
SELECT generation, counter_left FROM gatepost.stats;
-- a generation that was raised at the end of an hour has few tokens, and is not filling up
BEGIN;
ALTER TABLE gatepost.identity DISABLE TRIGGER USER;
UPDATE gatepost.identity SET first = (514287::bigint << 34) + (499999000::bigint << 5);
SELECT tokens_drawn_total FROM gatepost.stats;
SELECT count(*) FROM gatepost.doctor() WHERE subject = 'tokens' AND detail NOT LIKE '%ahead of the hours%';
ROLLBACK;
SELECT setval('gatepost.token_sequence', (514288::bigint << 34));
SELECT severity, detail, fix FROM gatepost.doctor() WHERE detail NOT LIKE '%ahead of the hours%';
SELECT setval('gatepost.token_sequence', (524287::bigint << 34));
SELECT severity, detail FROM gatepost.doctor() WHERE detail NOT LIKE '%ahead of the hours%';
DROP EXTENSION gatepost;
CREATE EXTENSION gatepost;

\echo -- who may look, and what somebody sees who may not look at everything
CREATE ROLE regress_doctor_monitor IN ROLE pg_monitor;
CREATE ROLE regress_doctor_admin;
CREATE ROLE regress_doctor_all;
GRANT USAGE ON SCHEMA gatepost TO regress_doctor_admin, regress_doctor_all;
GRANT EXECUTE ON FUNCTION gatepost.doctor, gatepost.stats_row TO regress_doctor_admin;
GRANT SELECT ON gatepost.stats TO regress_doctor_admin, regress_doctor_all;
GRANT UPDATE ON gatepost.lease_slots TO regress_doctor_admin;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_doctor_all;
SET ROLE regress_doctor_monitor;
SELECT count(*) FROM gatepost.doctor() WHERE subject <> 'clock';
SELECT leases_held FROM gatepost.stats;
SET ROLE regress_doctor_admin;
SELECT count(*) FROM gatepost.doctor() WHERE subject <> 'clock';
SELECT leases_held FROM gatepost.stats;
SET ROLE regress_doctor_all;
SELECT count(*) FROM gatepost.doctor();
SELECT leases_held FROM gatepost.stats;
SELECT gatepost.doctor_mark_above('pg_class');
SELECT * FROM gatepost.doctor_findings();
RESET ROLE;
-- nothing of the caller's is called, and he is who he was afterwards
CREATE SCHEMA doc_planted;
CREATE FUNCTION doc_planted.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE FUNCTION doc_planted.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE OPERATOR doc_planted.= (FUNCTION = doc_planted.equal, LEFTARG = text, RIGHTARG = text);
CREATE TEMP TABLE pg_locks (pid int);
CREATE TEMP TABLE pg_extension (extname text, extversion text);
GRANT USAGE ON SCHEMA doc_planted TO regress_doctor_monitor;
SET standard_conforming_strings = off;
SET search_path = doc_planted, pg_temp, pg_catalog;
SET ROLE regress_doctor_monitor;
SELECT severity, subject, detail FROM gatepost.doctor() WHERE severity OPERATOR(pg_catalog.<>) 'notice';
SELECT leases_held, waiters FROM gatepost.stats;
SELECT current_user;
RESET ROLE;
RESET search_path;
RESET standard_conforming_strings;
-- a look that fails is told, and the others are made
CREATE INDEX doc_more ON gatepost.lease_slots ((token + 1));
SELECT severity, subject, detail, fix FROM gatepost.doctor();
DROP INDEX gatepost.doc_more;

\c contrib_regression
DROP DATABASE regress_doctor;
DROP ROLE regress_doctor_monitor, regress_doctor_admin, regress_doctor_all;
