-- Rules by name prefix: who may hold, see and break which names.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE ROLE regress_gatepost_a;
CREATE ROLE regress_gatepost_b;
CREATE ROLE regress_gatepost_admin;
CREATE ROLE regress_gatepost_all;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_a, regress_gatepost_b, regress_gatepost_admin, regress_gatepost_all;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_a, regress_gatepost_b, regress_gatepost_admin, regress_gatepost_all;
GRANT SELECT ON gatepost.leases, gatepost.rules TO regress_gatepost_a, regress_gatepost_b, regress_gatepost_admin;
GRANT UPDATE ON gatepost.lease_slots TO regress_gatepost_admin;
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

-- bad input
SELECT pg_temp.ask(format('SELECT gatepost.%s', c)) FROM unnest(ARRAY[
  'rule_add(NULL, ''regress_gatepost_a'', ''hold'')', 'rule_add(''p'', NULL, ''hold'')', 'rule_add(''p'', ''regress_gatepost_a'', NULL)',
  'rule_add(repeat(''x'', 1025), ''regress_gatepost_a'', ''hold'')', 'rule_add(''p'', ''regress_gatepost_nobody'', ''hold'')',
  'rule_add(''p'', 0::oid::regrole, ''hold'')', 'rule_add(''p'', 4000000000::oid::regrole, ''hold'')',
  'rule_add(''p'', ''regress_gatepost_a'', ''Hold'')', 'rule_add(''p'', ''regress_gatepost_a'', '''')', 'rule_add(''p'', ''regress_gatepost_a'', repeat(''x'', 300))',
  'rule_drop(NULL, ''regress_gatepost_a'', ''hold'')', 'rule_drop(''p'', NULL, ''hold'')', 'rule_drop(''p'', ''regress_gatepost_a'', NULL)',
  'rule_drop(repeat(''x'', 1025), ''regress_gatepost_a'', ''hold'')', 'rule_drop(''p'', repeat(''x'', 64), ''hold'')', 'rule_drop(''p'', '''', ''hold'')',
  'rule_drop(''p'', ''regress_gatepost_a'', ''holds'')', 'rule_drop(''p'', ''regress_gatepost_a'', ''hold'')']) WITH ORDINALITY AS u(c, n) ORDER BY n;
SELECT count(*) FROM gatepost.rules;
-- administrators only, EXECUTE or not
SET ROLE regress_gatepost_all;
SELECT pg_temp.ask(c) FROM unnest(ARRAY['SELECT gatepost.rule_add(NULL, NULL, NULL)', 'SELECT gatepost.rule_drop(NULL, NULL, NULL)',
  'SELECT count(*) FROM gatepost.rule_rows()', 'SELECT count(*) FROM gatepost.name_rules']) WITH ORDINALITY AS u(c, n) ORDER BY n;
RESET ROLE;
BEGIN READ ONLY;
SELECT pg_temp.ask('SELECT gatepost.rule_drop(''p'', ''x'', ''hold'')'), (SELECT count(*) FROM gatepost.rules);
COMMIT;

-- every call that names a lease or lock, as a role; $1 a token
CREATE FUNCTION pg_temp.everything(name text, token bigint, OUT call text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, CASE WHEN a ~ '^[0-9]{13,}$' THEN 'a token' ELSE a END
  FROM unnest(ARRAY['lease_acquire(''@'', ''10 min'')', 'lease_renew(''@'', $1)', 'lease_release(''@'', $1)', 'lease_status(''@'', $1)',
                    'lease_break(''@'')', 'advisory_xact_lock(''@ lock'')', 'try_advisory_xact_lock(''@ lock'')', 'advisory_lock(''@ lock'')',
                    'try_advisory_lock(''@ lock'')', 'advisory_unlock(''@ lock'')', 'advisory_unlock(''@ lock'')', 'advisory_key(''@'') <> 0'])
       WITH ORDINALITY AS u(c, n), pg_temp.ask(replace('SELECT gatepost.' || c, '@', name), token) AS a ORDER BY n
$$;
SET ROLE regress_gatepost_a;
SELECT gatepost.lease_acquire('rules/a', '10 min') AS a \gset
\echo -- no rules
SELECT * FROM pg_temp.everything('rules/a', :a);
SELECT gatepost.lease_acquire('rules/a', '10 min') AS a \gset
RESET ROLE;
SELECT gatepost.rule_add('rules/', 'regress_gatepost_a', 'hold'), gatepost.rule_add('rules/', 'regress_gatepost_a', 'see');
\echo -- its member
SET ROLE regress_gatepost_a;
SELECT * FROM pg_temp.everything('rules/a', :a);
SELECT gatepost.lease_acquire('rules/a', '10 min') AS a \gset
SELECT name, state FROM gatepost.leases WHERE name LIKE 'rules/%';
\echo -- another role, of a name that is held and one that never was
SET ROLE regress_gatepost_b;
SELECT * FROM pg_temp.everything('rules/a', :a);
SELECT h.call, replace(h.answer, 'rules/a', '?') IS NOT DISTINCT FROM replace(n.answer, 'rules/none', '?') AS same
FROM pg_temp.everything('rules/a', :a) WITH ORDINALITY AS h(call, answer, n)
JOIN pg_temp.everything('rules/none', :a) WITH ORDINALITY AS n(call, answer, n) USING (n)
WHERE replace(h.answer, 'rules/a', '?') IS DISTINCT FROM replace(n.answer, 'rules/none', '?');
SELECT pg_temp.detail('SELECT gatepost.lease_acquire(''rules/a'', ''1 min'')'), pg_temp.detail('SELECT gatepost.lease_status(''rules/a'', 1)');
SELECT count(*) FROM gatepost.leases WHERE name LIKE 'rules/%';
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''rules'', ''10 min'') > 0'), pg_temp.ask('SELECT gatepost.lease_acquire(''Rules/'', ''10 min'') > 0');
\echo -- an administrator and a superuser
SET ROLE regress_gatepost_admin;
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''rules/a'', ''10 min'')'), gatepost.lease_status('rules/a', :a),
       (SELECT count(*) FROM gatepost.leases WHERE name = 'rules/a');
RESET ROLE;
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''rules/a'', ''10 min'')'), gatepost.lease_renew('rules/a', :a);
SELECT pg_temp.locks_left();

-- what one has may be unlocked when the right is gone
SET ROLE regress_gatepost_b;
SELECT gatepost.try_advisory_lock('kept');
RESET ROLE;
SELECT gatepost.rule_add('kept', 'regress_gatepost_a', 'hold');
SET ROLE regress_gatepost_b;
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''kept'')'), pg_temp.ask('SELECT gatepost.advisory_unlock(''kept'')');
RESET ROLE;
SELECT gatepost.rule_drop('kept', 'regress_gatepost_a', 'hold'), gatepost.rule_drop('kept', 'regress_gatepost_a', 'hold') AS again;

-- break: administrators, and whom a rule names. It needs no other right, and gives none
SET ROLE regress_gatepost_b;
SELECT pg_temp.ask('SELECT gatepost.lease_break(''rules/a'')'), pg_temp.ask('SELECT gatepost.lease_break(NULL)');
RESET ROLE;
SELECT gatepost.rule_add('rules/', 'regress_gatepost_b', 'break');
SET ROLE regress_gatepost_a;
SELECT pg_temp.ask('SELECT gatepost.lease_break(''rules/a'')'), pg_temp.detail('SELECT gatepost.lease_break(''rules/a'')');
SET ROLE regress_gatepost_b;
SELECT gatepost.lease_break('rules/none'), gatepost.lease_break('rules/a') > :a AS broken;
SELECT left(pg_temp.ask('SELECT gatepost.lease_break(''other'')'), 5), left(pg_temp.ask('SELECT gatepost.lease_purge(''0'', ''rules/'')'), 5),
       left(pg_temp.ask('SELECT gatepost.lease_status(''rules/a'', 1)'), 5), pg_temp.ask('SELECT gatepost.lease_break(NULL)');
RESET ROLE;

-- the longest prefix decides, for each action apart; '' is every name
SELECT gatepost.rule_add('', 'regress_gatepost_admin', 'hold'), gatepost.rule_add('rules/b/', 'regress_gatepost_b', 'hold'),
       gatepost.rule_add('rules/both/', 'regress_gatepost_a', 'hold'), gatepost.rule_add('rules/both/', 'regress_gatepost_b', 'hold');
CREATE FUNCTION pg_temp.may(OUT role text, OUT hold text, OUT see text, OUT break text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
  n text;
BEGIN
  FOREACH role IN ARRAY ARRAY['a', 'b', 'admin'] LOOP
    EXECUTE 'SET LOCAL ROLE regress_gatepost_' || role;
    hold := ''; see := ''; break := '';
    FOREACH n IN ARRAY ARRAY['x', 'rules', 'rules/x', 'rules/b', 'rules/b/', 'rules/b/x', 'rules/both/x'] LOOP
      IF pg_temp.ask(format('SELECT gatepost.lease_renew(%L, 1)', n)) = 'false' THEN hold := hold || ' ' || n; END IF;
      IF pg_temp.ask(format('SELECT gatepost.lease_status(%L, 1)', n)) !~ '^42501' THEN see := see || ' ' || n; END IF;
      IF pg_temp.ask(format('SELECT gatepost.lease_break(%L)', n)) !~ '^42501' THEN break := break || ' ' || n; END IF;
    END LOOP;
    RETURN NEXT;
  END LOOP;
  RESET ROLE;
END $$;
SELECT * FROM pg_temp.may();
SELECT prefix, member, action, member_exists, in_flight FROM gatepost.rules ORDER BY prefix COLLATE "C", member, action;
SELECT gatepost.rule_drop('', 'regress_gatepost_admin', 'hold'), gatepost.rule_drop('rules/b/', 'regress_gatepost_b', 'hold'),
       gatepost.rule_drop('rules/both/', 'regress_gatepost_a', 'hold');
SELECT * FROM pg_temp.may();
-- a prefix of 1,024 bytes is one name; bytes, not letters
SELECT gatepost.rule_add(repeat('x', 1024), 'regress_gatepost_a', 'hold'), gatepost.rule_add('ü', 'regress_gatepost_a', 'hold');
SET ROLE regress_gatepost_b;
SELECT left(pg_temp.ask(format('SELECT gatepost.lease_renew(%L, 1)', n)), 5) FROM unnest(ARRAY[repeat('x', 1024), repeat('x', 1023), 'üb', 'u', 'Üb']) AS n;
RESET ROLE;
-- added twice it is there once
SELECT gatepost.rule_add('ü', 'regress_gatepost_a', 'hold');
SELECT count(*) FROM gatepost.rules WHERE prefix = 'ü';
SELECT count(*) FILTER (WHERE gatepost.rule_drop(prefix, member, action)) FROM gatepost.rules WHERE prefix NOT LIKE 'rules/%';

-- membership, SET ROLE, SECURITY DEFINER: the role in force
CREATE ROLE regress_gatepost_m;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_m;
GRANT EXECUTE ON FUNCTION gatepost.lease_renew TO regress_gatepost_m;
CREATE FUNCTION rules_renew(name text) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$ SELECT gatepost.lease_renew(name, 1) $$;
ALTER FUNCTION rules_renew OWNER TO regress_gatepost_a;
SET ROLE regress_gatepost_m;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''rules/x'', 1)'), rules_renew('rules/x');
RESET ROLE;
GRANT regress_gatepost_a TO regress_gatepost_m;
SET ROLE regress_gatepost_m;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''rules/x'', 1)');
RESET ROLE;
REVOKE regress_gatepost_a FROM regress_gatepost_m;
SET SESSION AUTHORIZATION regress_gatepost_m;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''rules/x'', 1)');
RESET SESSION AUTHORIZATION;
ALTER FUNCTION rules_renew OWNER TO regress_gatepost_b;
SET ROLE regress_gatepost_a;
SELECT pg_temp.ask('SELECT rules_renew(''rules/x'')');
RESET ROLE;
DROP FUNCTION rules_renew;

-- a role that is gone, or renamed, matches nobody and its prefix stays shut; created again it matches
SELECT gatepost.rule_add('gone/', 'regress_gatepost_m', 'hold');
SET ROLE regress_gatepost_m;
SELECT gatepost.lease_renew('gone/x', 1);
RESET ROLE;
ALTER ROLE regress_gatepost_m RENAME TO regress_gatepost_n;
SET ROLE regress_gatepost_n;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''gone/x'', 1)');
RESET ROLE;
DROP OWNED BY regress_gatepost_n;
DROP ROLE regress_gatepost_n;
SELECT member, member_exists FROM gatepost.rules WHERE prefix = 'gone/';
SET ROLE regress_gatepost_a;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''gone/x'', 1)');
RESET ROLE;
CREATE ROLE regress_gatepost_m;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_m;
GRANT EXECUTE ON FUNCTION gatepost.lease_renew TO regress_gatepost_m;
SET ROLE regress_gatepost_m;
SELECT gatepost.lease_renew('gone/x', 1);
RESET ROLE;
DROP OWNED BY regress_gatepost_m;
DROP ROLE regress_gatepost_m;
SELECT gatepost.rule_drop('gone/', 'regress_gatepost_m', 'hold');
SET ROLE regress_gatepost_a;
SELECT gatepost.lease_renew('gone/x', 1);
RESET ROLE;

-- a rule belongs to its transaction
SET ROLE regress_gatepost_admin;
BEGIN;
SELECT gatepost.rule_add('own/', 'regress_gatepost_b', 'hold');
SET LOCAL ROLE regress_gatepost_a;
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''own/x'', 1)'), 5);
SET LOCAL ROLE regress_gatepost_b;
SELECT gatepost.lease_renew('own/x', 1);
SET LOCAL ROLE regress_gatepost_admin;
SAVEPOINT one;
SELECT gatepost.rule_drop('own/', 'regress_gatepost_b', 'hold');
SET LOCAL ROLE regress_gatepost_a;
SELECT gatepost.lease_renew('own/x', 1);
ROLLBACK TO one;
SET LOCAL ROLE regress_gatepost_a;
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''own/x'', 1)'), 5);
ROLLBACK;
RESET ROLE;
SET ROLE regress_gatepost_a;
SELECT gatepost.lease_renew('own/x', 1);
RESET ROLE;

-- statements: rules are loaded as if by rule_add, and changed by none
INSERT INTO gatepost.name_rules VALUES ('load/', 'regress_gatepost_a', 'hold'), ('load/', 'no such role', 'see'), ('load/', 'regress_gatepost_a', 'hold');
COPY gatepost.name_rules FROM STDIN;
load/	regress_gatepost_a	hold
load/	regress_gatepost_b	see
\.
SET ROLE regress_gatepost_b;
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''load/x'', 1)'), 5), gatepost.lease_status('load/x', 1);
RESET ROLE;
SELECT member, action, member_exists FROM gatepost.rules WHERE prefix = 'load/' ORDER BY member, action;
CREATE FUNCTION pg_temp.dml(OUT command text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, pg_temp.try(c) FROM unnest(ARRAY[
    'INSERT INTO gatepost.name_rules VALUES (NULL, ''x'', ''hold'')', 'INSERT INTO gatepost.name_rules VALUES (''x'', ''x'', ''climb'')',
    'INSERT INTO gatepost.name_rules VALUES (repeat(''x'', 1025), ''x'', ''hold'')', 'INSERT INTO gatepost.name_rules VALUES (''x'', '''', ''hold'')',
    'UPDATE gatepost.name_rules SET prefix = prefix', 'DELETE FROM gatepost.name_rules', 'DELETE FROM gatepost.name_rules WHERE false',
    'TRUNCATE gatepost.name_rules']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
SELECT * FROM pg_temp.dml();
SET session_replication_role = replica;
SELECT command, left(answer, 5) FROM pg_temp.dml();
RESET session_replication_role;
-- the trigger is for that table
CREATE TABLE rules_mine (prefix text, member text, action text);
CREATE TRIGGER t BEFORE INSERT ON rules_mine FOR EACH ROW EXECUTE FUNCTION gatepost.rule_loaded();
SELECT pg_temp.try('INSERT INTO rules_mine VALUES (''mine/'', ''x'', ''hold'')');
DROP TABLE rules_mine;

-- rewritten, changed and made anew under a session that has read it
VACUUM FULL gatepost.name_rules;
REINDEX TABLE gatepost.name_rules;
SET ROLE regress_gatepost_b;
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''load/x'', 1)'), 5);
RESET ROLE;
SELECT gatepost.rule_drop('load/', 'regress_gatepost_a', 'hold');
SET ROLE regress_gatepost_b;
SELECT gatepost.lease_renew('load/x', 1);
RESET ROLE;
BEGIN;
ALTER TABLE gatepost.name_rules ADD more int;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''load/x'', 1)'), pg_temp.ask('SELECT gatepost.rule_drop(''x'', ''x'', ''hold'')');
ROLLBACK;
BEGIN;
CREATE INDEX ON gatepost.name_rules (upper(prefix));
SELECT pg_temp.ask('SELECT gatepost.rule_add(''x'', ''regress_gatepost_a'', ''hold'')');
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.name_rules ADD more int;
ALTER TABLE gatepost.name_rules DROP more;
SELECT gatepost.rule_add('x', 'regress_gatepost_a', 'hold'), gatepost.rule_drop('x', 'regress_gatepost_a', 'hold');
ROLLBACK;

-- a call that has read the rules leaves no lock, and who was refused none either
BEGIN;
SELECT gatepost.rule_add('trace/', 'regress_gatepost_a', 'hold');
COMMIT;
SET ROLE regress_gatepost_b;
BEGIN;
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''trace/x'', ''1 min'')'), 5), gatepost.lease_renew('other', 1);
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid, count(*) FROM pg_locks JOIN pg_class AS c ON c.oid = relation
WHERE pid = pg_backend_pid() AND relnamespace = 'gatepost'::regnamespace;
COMMIT;
RESET ROLE;
SELECT pg_temp.locks_left();

SELECT count(*) FILTER (WHERE gatepost.rule_drop(prefix, member, action)) > 0 FROM gatepost.rules;
SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE state = 'held' AND name ~* '^rules';
SELECT gatepost.lease_purge('0') > 0 AS purged;
DROP OWNED BY regress_gatepost_a, regress_gatepost_b, regress_gatepost_admin, regress_gatepost_all;
DROP ROLE regress_gatepost_a, regress_gatepost_b, regress_gatepost_admin, regress_gatepost_all;
