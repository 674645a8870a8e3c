-- Roles and objects of the security matrix. Each role is a column of matrix.tsv:
--   nobody         what PUBLIC has
--   stranger       the user list; no member of anything
--   member         a member of holder
--   holder         the user list; holds the leases, owns table mine
--   administrator  the administrator list
--   everything     EXECUTE on all functions, as people grant
--   data           pg_read_all_data, pg_write_all_data, pg_monitor
CREATE ROLE nobody;
CREATE ROLE stranger;
CREATE ROLE holder;
CREATE ROLE member IN ROLE holder;
CREATE ROLE administrator;
CREATE ROLE everything;
CREATE ROLE data IN ROLE pg_read_all_data, pg_write_all_data, pg_monitor;
CREATE ROLE distant NOINHERIT IN ROLE holder;
GRANT USAGE ON SCHEMA gatepost TO everything;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO everything;

-- With the lists granted:
CREATE SCHEMA sec;
GRANT ALL ON SCHEMA sec TO PUBLIC;
CREATE TABLE sec.mine (id int PRIMARY KEY, fence bigint);
CREATE TABLE sec.guarded (id int PRIMARY KEY, fence bigint);
CREATE TABLE sec.tree (id int) PARTITION BY LIST (id);
CREATE TABLE sec.leaf PARTITION OF sec.tree FOR VALUES IN (1);
CREATE VIEW sec.seen AS SELECT 1 AS id;
INSERT INTO sec.mine VALUES (1, 1);
GRANT SELECT, INSERT, UPDATE, DELETE ON sec.guarded TO PUBLIC;
GRANT SELECT, UPDATE ON sec.mine TO stranger;
ALTER TABLE sec.mine OWNER TO holder;
ALTER TABLE sec.guarded OWNER TO holder;
ALTER TABLE sec.tree OWNER TO holder;
ALTER TABLE sec.leaf OWNER TO stranger;
SELECT gatepost.fence_protect('sec.guarded', 'sec/held');

SELECT gatepost.rule_add('shut/', 'holder', 'hold'), gatepost.rule_add('shut/', 'holder', 'see'), gatepost.rule_add('shut/', 'holder', 'break');
SET ROLE holder;
SELECT gatepost.lease_acquire('sec/held', '1 h') AS stale \gset
SELECT gatepost.lease_release('sec/held', :stale);
SELECT gatepost.lease_acquire('sec/held', '1 h') AS token \gset
SELECT gatepost.lease_acquire('sec/released', '1 h') AS released \gset
SELECT gatepost.lease_release('sec/released', :released);
SELECT gatepost.lease_acquire('shut/held', '1 h') AS shut \gset
SELECT gatepost.semaphore_acquire('sec/pool', 2, '1 h') AS permit \gset
SELECT gatepost.semaphore_acquire('shut/pool', 2, '1 h') > 0 AS granted;
DO $$ BEGIN PERFORM gatepost.fence_use('shut/absent', 1); EXCEPTION WHEN OTHERS THEN END $$;
DO $$ BEGIN INSERT INTO sec.guarded VALUES (1, 1); EXCEPTION WHEN OTHERS THEN END $$;
SELECT gatepost.fence_claim('sec/marked', 'key', :token);
RESET ROLE;
SET ROLE stranger;
SELECT gatepost.lease_acquire('sec/strange', '1 h') AS strange \gset
RESET ROLE;
CREATE TABLE sec.tokens AS SELECT * FROM (VALUES ('TOKEN', :token), ('STALE', :stale), ('PERMIT', :permit), ('RELEASED', :released), ('SHUT', :shut), ('STRANGE', :strange), ('WILD', 9007199254740991)) AS v(word, token);

-- The answer of a statement: the one value of a SELECT, done, or the SQLSTATE. What it has done is undone.
CREATE FUNCTION sec.answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text := 'done';
BEGIN
  IF statement ~ '^SELECT' THEN
    EXECUTE statement INTO answer;
    answer := regexp_replace(coalesce(answer, 'null'), '^$', 'void');
  ELSE
    EXECUTE statement;
  END IF;
  RETURN answer;
END $$;
-- As another's function with his rights, and where the server restricts what functions may do.
CREATE FUNCTION sec.as_definer(statement text) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT sec.answer(statement)';
ALTER FUNCTION sec.as_definer OWNER TO holder;
CREATE TABLE sec.statement (statement text);
CREATE MATERIALIZED VIEW sec.restricted AS SELECT sec.answer(statement) AS answer FROM sec.statement WITH NO DATA;
GRANT SELECT ON sec.statement TO PUBLIC;
ALTER MATERIALIZED VIEW sec.restricted OWNER TO holder;
CREATE FUNCTION sec.as_restricted(of_statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sec.statement VALUES (of_statement);
  REFRESH MATERIALIZED VIEW sec.restricted;
  RETURN (SELECT answer FROM sec.restricted);
END $$;

CREATE FUNCTION sec.outcome(who text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  IF who = 'restricted' THEN
    answer := sec.as_restricted(statement);
  ELSIF who = 'definer' THEN
    SET LOCAL SESSION AUTHORIZATION nobody;
    answer := sec.as_definer(statement);
  ELSIF who = 'set_role' THEN
    SET LOCAL SESSION AUTHORIZATION distant;
    SET LOCAL ROLE holder;
    answer := sec.answer(statement);
  ELSE
    IF who <> 'superuser' THEN
      EXECUTE format('SET LOCAL SESSION AUTHORIZATION %I', who);
    END IF;
    answer := sec.answer(statement);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'UNDO0', MESSAGE = answer;
EXCEPTION WHEN OTHERS THEN
  RETURN CASE SQLSTATE WHEN 'UNDO0' THEN SQLERRM ELSE SQLSTATE END;
END $$;
