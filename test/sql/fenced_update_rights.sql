-- fenced_update is the caller's own UPDATE: his rights, his policies, his search_path, his triggers.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE FUNCTION pg_temp.write(target regclass, key jsonb, changes jsonb, token bigint DEFAULT 7) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.ask(format('SELECT gatepost.fenced_update(%L, %L, %L, %s)', target, key, changes, token))
$$;
CREATE ROLE regress_gatepost_owner;
CREATE ROLE regress_gatepost_tenant;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_tenant, regress_gatepost_owner;
GRANT EXECUTE ON FUNCTION gatepost.fenced_update TO regress_gatepost_tenant, regress_gatepost_owner;
CREATE SCHEMA rights_app AUTHORIZATION regress_gatepost_owner;
GRANT USAGE ON SCHEMA rights_app TO regress_gatepost_tenant;
SET ROLE regress_gatepost_owner;
SET search_path = rights_app;
CREATE TABLE rights_rows (id int PRIMARY KEY, tenant text, v text, secret text, fence bigint);
INSERT INTO rights_rows VALUES (1, 'regress_gatepost_tenant', 'mine', 's', NULL), (2, 'another', 'theirs', 's', NULL);
RESET ROLE;

-- privileges, one by one
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "x"}');
RESET ROLE;
GRANT SELECT ON rights_rows TO regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "x"}');
RESET ROLE;
GRANT UPDATE (v) ON rights_rows TO regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "without the mark"}');
RESET ROLE;
GRANT UPDATE (fence) ON rights_rows TO regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "allowed"}'), pg_temp.write('rights_rows', '{"id": 1}', '{"secret": "x"}'),
       pg_temp.write('rights_rows', '{"id": 1}', '{"v": "x", "secret": "x"}');
RESET ROLE;
-- SELECT on the key and the fence is enough, and needed
REVOKE SELECT ON rights_rows FROM regress_gatepost_tenant;
GRANT SELECT (id) ON rights_rows TO regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "unseen mark"}');
RESET ROLE;
GRANT SELECT (fence) ON rights_rows TO regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "by columns"}');
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "stale"}', 6);
RESET ROLE;
REVOKE SELECT (id) ON rights_rows FROM regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "unseen key"}');
RESET ROLE;
SELECT id, v, secret, fence FROM rights_rows ORDER BY id;
GRANT SELECT, UPDATE ON rights_rows TO regress_gatepost_tenant;

-- without EXECUTE nothing of it matters
REVOKE EXECUTE ON FUNCTION gatepost.fenced_update FROM regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "x"}');
RESET ROLE;
GRANT EXECUTE ON FUNCTION gatepost.fenced_update TO regress_gatepost_tenant;

-- row security: another tenant's row is not there, WITH CHECK holds, the owner passes unless forced
ALTER TABLE rights_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON rights_rows USING (tenant = current_user) WITH CHECK (tenant = current_user AND v <> 'forbidden');
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "own row"}', 8), pg_temp.write('rights_rows', '{"id": 2}', '{"v": "other row"}', 8);
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "forbidden"}', 8), pg_temp.write('rights_rows', '{"id": 1}', '{"tenant": "another"}', 8);
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "stale"}', 7);
-- nor does staleness tell that a hidden row exists
SELECT pg_temp.write('rights_rows', '{"id": 2}', '{"v": "stale"}', 1);
RESET ROLE;
SET ROLE regress_gatepost_owner;
SELECT pg_temp.write('rights_rows', '{"id": 2}', '{"v": "by the owner"}', 8);
ALTER TABLE rights_rows FORCE ROW LEVEL SECURITY;
SELECT pg_temp.write('rights_rows', '{"id": 2}', '{"v": "forced"}', 9);
RESET ROLE;
-- a row that may be seen but not changed is as in an UPDATE: not found
CREATE POLICY see ON rights_rows FOR SELECT USING (true);
SET ROLE regress_gatepost_tenant;
SELECT count(*) FROM rights_rows;
SELECT pg_temp.write('rights_rows', '{"id": 2}', '{"v": "seen"}', 9), pg_temp.write('rights_rows', '{"id": 2}', '{"v": "seen"}', 1);
SET row_security = off;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "x"}', 9);
RESET row_security;
RESET ROLE;
SELECT id, tenant, v, fence FROM rights_rows ORDER BY id;
ALTER TABLE rights_rows DISABLE ROW LEVEL SECURITY;

-- triggers run with the caller's search_path, see the caller, and see the values
CREATE TABLE rights_audit (who text, path text, v text, fence bigint);
GRANT INSERT, SELECT ON rights_audit TO regress_gatepost_tenant;
CREATE FUNCTION rights_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO rights_audit VALUES (current_user, current_setting('search_path'), NEW.v, NEW.fence);
  RETURN NEW;
END $$;
CREATE TRIGGER note AFTER UPDATE ON rights_rows FOR EACH ROW EXECUTE FUNCTION rights_note();
SET ROLE regress_gatepost_tenant;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "audited"}', 10);
RESET ROLE;
SELECT * FROM rights_audit;
SHOW search_path;
DROP TRIGGER note ON rights_rows;

-- a trigger that rewrites values is obeyed; one that lowers the mark is not
CREATE FUNCTION rights_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := upper(NEW.v); RETURN NEW; END $$;
CREATE TRIGGER zz_rewrite BEFORE UPDATE ON rights_rows FOR EACH ROW EXECUTE FUNCTION rights_rewrite();
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "shout"}', 10);
SELECT v, fence FROM rights_rows WHERE id = 1;
DROP TRIGGER zz_rewrite ON rights_rows;
CREATE FUNCTION rights_lower() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fence := 1; RETURN NEW; END $$;
CREATE TRIGGER zz_lower BEFORE UPDATE ON rights_rows FOR EACH ROW EXECUTE FUNCTION rights_lower();
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "lowered"}', 11);
SELECT v, fence FROM rights_rows WHERE id = 1;
DROP TRIGGER zz_lower ON rights_rows;
-- a trigger that takes the update away: not applied is never true
CREATE FUNCTION rights_suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER zz_suppress BEFORE UPDATE ON rights_rows FOR EACH ROW EXECUTE FUNCTION rights_suppress();
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "suppressed"}', 11);
SELECT v, fence FROM rights_rows WHERE id = 1;
DROP TRIGGER zz_suppress ON rights_rows;
-- a trigger that fails
CREATE FUNCTION rights_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'ZZ002'; END $$;
CREATE TRIGGER fail BEFORE UPDATE ON rights_rows FOR EACH ROW EXECUTE FUNCTION rights_fail();
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "failed"}', 11);
DROP TRIGGER fail ON rights_rows;
SELECT v, fence FROM rights_rows WHERE id = 1;
-- a rule on the table: the write is the rule's, so it is refused or done, but never only said to be done
CREATE RULE nothing AS ON UPDATE TO rights_rows DO INSTEAD NOTHING;
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "ruled out"}', 11);
DROP RULE nothing ON rights_rows;
SELECT v, fence FROM rights_rows WHERE id = 1;

-- constraints and foreign keys are as in an UPDATE
ALTER TABLE rights_rows ADD CONSTRAINT short CHECK (length(v) < 20);
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"v": "longer than is allowed"}', 11);
CREATE TABLE rights_refs (id int REFERENCES rights_rows ON UPDATE CASCADE);
INSERT INTO rights_refs VALUES (1);
SELECT pg_temp.write('rights_rows', '{"id": 1}', '{"id": 10}', 11), (SELECT id FROM rights_refs);
SELECT id FROM rights_refs;

-- inside a SECURITY DEFINER function the caller is its owner
CREATE FUNCTION rights_definer() RETURNS boolean LANGUAGE sql SECURITY DEFINER
AS $$ SELECT gatepost.fenced_update('rights_app.rights_rows', '{"id": 10}', '{"secret": "by the owner"}', 12) $$;
ALTER FUNCTION rights_definer OWNER TO regress_gatepost_owner;
REVOKE UPDATE ON rights_rows FROM regress_gatepost_tenant;
SET ROLE regress_gatepost_tenant;
SELECT rights_definer(), pg_temp.write('rights_rows', '{"id": 10}', '{"v": "x"}', 12);
RESET ROLE;
SELECT secret, fence FROM rights_rows WHERE id = 10;

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA rights_app CASCADE;
DROP OWNED BY regress_gatepost_owner, regress_gatepost_tenant;
DROP ROLE regress_gatepost_owner, regress_gatepost_tenant;
