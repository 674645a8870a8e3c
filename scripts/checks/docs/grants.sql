-- Asked of a database with the extension, after both lists of docs/reference.md were granted to :user and :administrator.
-- Each row is a line of TAP.
\pset tuples_only on
\pset format unaligned
\set ON_ERROR_STOP on

CREATE ROLE check_nobody;
CREATE ROLE check_everything;
GRANT USAGE ON SCHEMA gatepost TO check_everything;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA gatepost TO check_everything;
CREATE TABLE fenced (id int PRIMARY KEY, fence bigint);
INSERT INTO fenced VALUES (1, NULL);
GRANT SELECT, UPDATE ON fenced TO PUBLIC;

-- Who is no administrator and watches the server: given in the extension itself.
CREATE ROLE check_monitor IN ROLE pg_monitor;

-- 'done' or the SQLSTATE of a statement that a role tries; its effect is undone. A procedure that would commit got as far
-- as that.
CREATE FUNCTION outcome(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SET LOCAL ROLE %I', role);
  EXECUTE statement;
  RAISE EXCEPTION USING ERRCODE = 'UNDO0';
EXCEPTION WHEN OTHERS THEN
  RETURN CASE WHEN SQLSTATE IN ('UNDO0', '2D000') THEN 'done' ELSE SQLSTATE END;
END $$;

-- a line of TAP, with what was found when it should be nothing
CREATE FUNCTION tap(what text, found text[]) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT CASE WHEN found IS NULL THEN 'ok - ' ELSE 'not ok - ' END || what
  UNION ALL SELECT '#   ' || f FROM unnest(found) AS f
$$;

-- The calls that grant the lists give what the document's statements give, also when made twice.
CREATE ROLE called_user;
CREATE ROLE called_administrator;
SELECT gatepost.grant_user('called_user'), gatepost.grant_administrator('called_administrator') FROM generate_series(1, 2) \g /dev/null
CREATE VIEW rights AS
SELECT a.grantee::regrole::text AS role, p.oid::regprocedure::text AS what, a.privilege_type, a.is_grantable
FROM pg_proc AS p, aclexplode(p.proacl) AS a WHERE p.pronamespace = 'gatepost'::regnamespace
UNION ALL SELECT a.grantee::regrole::text, c.relname, a.privilege_type, a.is_grantable
FROM pg_class AS c, aclexplode(c.relacl) AS a WHERE c.relnamespace = 'gatepost'::regnamespace
UNION ALL SELECT a.grantee::regrole::text, 'schema', a.privilege_type, a.is_grantable
FROM pg_namespace AS n, aclexplode(n.nspacl) AS a WHERE n.nspname = 'gatepost';
WITH written AS (
  SELECT CASE role WHEN :'user' THEN 'called_user' ELSE 'called_administrator' END AS role, what, privilege_type, is_grantable
  FROM rights WHERE role IN (:'user', :'administrator')
), called AS (
  SELECT * FROM rights WHERE role LIKE 'called\_%'
)
SELECT tap('grant_user and grant_administrator grant the lists of the document',
           (SELECT array_agg(d::text) FROM ((TABLE written EXCEPT TABLE called) UNION ALL (TABLE called EXCEPT TABLE written)) AS d));
DROP OWNED BY called_user, called_administrator;
DROP ROLE called_user, called_administrator;

CREATE VIEW functions AS
SELECT oid, proname::text AS name, proacl FROM pg_proc
WHERE pronamespace = 'gatepost'::regnamespace AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  -- what doctor(), the view stats and the calls that grant are made of is for their owner
  AND proname NOT LIKE 'doctor\_%' AND proname <> 'grant_rights';

-- who grants the lists needs to be in none
CREATE VIEW listed AS
SELECT f.name, coalesce(array_agg(a.grantee::regrole::text) FILTER (WHERE a.grantee <> a.grantor AND a.grantee::regrole::text NOT IN ('check_everything', 'pg_monitor')),
                        CASE WHEN f.name IN ('grant_user', 'grant_administrator') THEN '{owner}'::text[] END) AS lists
FROM functions AS f, aclexplode(coalesce(f.proacl, acldefault('f', 10))) AS a GROUP BY f.name;
SELECT tap('every function is in exactly one list', array_agg(format('%s: %s', name, coalesce(lists::text, 'none')))
           FILTER (WHERE cardinality(lists) IS DISTINCT FROM 1)) FROM listed;

CREATE VIEW given AS
SELECT c.relname::text AS what, a.grantee, a.privilege_type FROM pg_class AS c, aclexplode(c.relacl) AS a
WHERE c.relnamespace = 'gatepost'::regnamespace AND a.grantee <> c.relowner
UNION ALL SELECT 'schema', a.grantee, a.privilege_type FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
WHERE n.nspname = 'gatepost' AND a.grantee <> n.nspowner AND a.grantee::regrole::text <> 'check_everything';
WITH wanted AS (
  VALUES ('schema', :'user', 'USAGE'), ('leases', :'user', 'SELECT'), ('advisory_locks', :'user', 'SELECT'),
         ('refusals', :'user', 'SELECT'), ('history', :'user', 'SELECT'), ('fenced_tables', :'user', 'SELECT'), ('waiters', :'user', 'SELECT'), ('semaphores', :'user', 'SELECT'),
         ('schema', :'administrator', 'USAGE'), ('lease_slots', :'administrator', 'UPDATE'), ('rules', :'administrator', 'SELECT'),
         ('stats', :'administrator', 'SELECT'), ('schema', 'pg_monitor', 'USAGE'), ('stats', 'pg_monitor', 'SELECT')
), found AS (
  SELECT what, grantee::regrole::text, privilege_type FROM given
)
SELECT tap('the lists grant nothing on schema and relations but what they need',
           (SELECT array_agg(d::text) FROM ((TABLE wanted EXCEPT TABLE found) UNION ALL (TABLE found EXCEPT TABLE wanted)) AS d));
SELECT tap('nothing is granted to PUBLIC',
           (SELECT array_agg(f::text) FROM (
              SELECT name FROM functions WHERE proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) AS a WHERE a.grantee = 0)
              UNION ALL SELECT what FROM given WHERE grantee = 0) AS f));

-- one call of each function that needs nothing but the right to make it
CREATE TABLE calls (name text, statement text);
INSERT INTO calls VALUES
  ('lease_acquire', 'SELECT gatepost.lease_acquire(''docs'', ''1 min'')'),
  ('lease_acquire_wait', 'CALL gatepost.lease_acquire_wait(''docs'', ''1 min'', ''0'')'),
  ('waiter_places', 'SELECT FROM gatepost.waiters'),
  ('waiter_places', 'SELECT FROM gatepost.waiter_places(1)'),
  ('queued_keys', 'SELECT FROM gatepost.queued_keys()'),
  ('lease_queue', 'SELECT gatepost.lease_queue(''docs'', ''6f1c3d3e-0000-4000-8000-000000000001'', ''1 min'', ''1 min'')'),
  ('lease_unqueue', 'SELECT gatepost.lease_unqueue(''docs'', ''6f1c3d3e-0000-4000-8000-000000000001'')'),
  ('lease_transfer', 'SELECT gatepost.lease_transfer(''docs'', 1, ''6f1c3d3e-0000-4000-8000-000000000001'')'),
  ('lease_watch', 'SELECT gatepost.lease_watch(''docs'')'),
  ('lease_unwatch', 'SELECT gatepost.lease_unwatch(''docs'')'),
  ('lease_renew', 'SELECT gatepost.lease_renew(''docs'', 1)'),
  ('lease_release', 'SELECT gatepost.lease_release(''docs'', 1)'),
  ('lease_acquire_all', 'SELECT gatepost.lease_acquire_all(''{docs}'', ''1 min'')'),
  ('lease_renew_many', 'SELECT FROM gatepost.lease_renew_many(''{docs}'', ''{1}'')'),
  ('lease_release_many', 'SELECT FROM gatepost.lease_release_many(''{docs}'', ''{1}'')'),
  ('semaphore_acquire', 'SELECT gatepost.semaphore_acquire(''docs/permits'', 2, ''1 min'')'),
  ('semaphore_resize', 'SELECT gatepost.semaphore_acquire(''docs/permits'', 2, ''1 min''); SELECT gatepost.semaphore_resize(''docs/permits'', 3)'),
  ('semaphore_rows', 'SELECT FROM gatepost.semaphores'),
  ('semaphore_rows', 'SELECT FROM gatepost.semaphore_rows()'),
  ('lease_request_yield', 'SELECT gatepost.lease_request_yield(''docs'')'),
  ('lease_status', 'SELECT gatepost.lease_status(''docs'', 1)'),
  ('advisory_xact_lock', 'SELECT gatepost.advisory_xact_lock(''docs'')'),
  ('try_advisory_xact_lock', 'SELECT gatepost.try_advisory_xact_lock(''docs'')'),
  ('advisory_lock', 'SELECT gatepost.advisory_lock(''docs'')'),
  ('try_advisory_lock', 'SELECT gatepost.try_advisory_lock(''docs'')'),
  ('advisory_unlock', 'SELECT gatepost.advisory_unlock(''docs'')'),
  ('advisory_key', 'SELECT gatepost.advisory_key(''docs'')'),
  ('advisory_known', 'SELECT FROM gatepost.advisory_locks'),
  ('advisory_known', 'SELECT FROM gatepost.advisory_known()'),
  ('fenced_update', 'SELECT gatepost.fenced_update(''public.fenced'', ''{"id": 1}'', ''{}'', 1)'),
  ('fence_advance', 'SELECT gatepost.fence_advance(''docs'', 1)'),
  ('fence_mark', 'SELECT gatepost.fence_mark(''docs'')'),
  ('fence_claim', 'SELECT gatepost.fence_claim(''docs'', ''key'', 1)'),
  ('token_generation', 'SELECT gatepost.token_generation()'),
  ('library_version', 'SELECT gatepost.library_version()'),
  ('lease_rows', 'SELECT FROM gatepost.leases'),
  ('lease_rows', 'SELECT FROM gatepost.lease_rows()'),
  ('fence_use', 'SELECT gatepost.fence_use(''used'', gatepost.lease_acquire(''used'', ''1 min''))'),
  ('fence_protect', 'CREATE TEMP TABLE mine (); SELECT gatepost.fence_protect(''mine'', ''docs'')'),
  ('fence_unprotect', 'CREATE TEMP TABLE mine (); SELECT gatepost.fence_protect(''mine'', ''docs''); SELECT gatepost.fence_unprotect(''mine'')'),
  ('fence_rows', 'SELECT FROM gatepost.fence_rows()'),
  ('refusal_rows', 'SELECT FROM gatepost.refusals'),
  ('refusal_rows', 'SELECT FROM gatepost.refusal_rows()'),
  ('history_rows', 'SELECT FROM gatepost.history'),
  ('history_rows', 'SELECT FROM gatepost.history_rows()'),
  ('refusals_reset', 'SELECT gatepost.refusals_reset()'),
  ('lease_break', 'SELECT gatepost.lease_break(''docs'')'),
  ('lease_purge', 'SELECT gatepost.lease_purge(''0'', ''docs'')'),
  ('fence_purge', 'SELECT gatepost.fence_purge(''0'', ''docs'')'),
  ('token_draw', 'SELECT gatepost.token_draw()'),
  ('token_raise_generation', 'SELECT gatepost.token_raise_generation()'),
  ('rule_add', 'SELECT gatepost.rule_add(''docs'', ''check_nobody'', ''hold'')'),
  ('rule_drop', 'SELECT gatepost.rule_drop(''docs'', ''check_nobody'', ''hold'')'),
  ('rule_rows', 'SELECT FROM gatepost.rules'),
  ('rule_rows', 'SELECT FROM gatepost.rule_rows()'),
  ('doctor', 'SELECT FROM gatepost.doctor()'),
  ('stats_row', 'SELECT FROM gatepost.stats'),
  ('stats_row', 'SELECT FROM gatepost.stats_row()'),
  ('grant_user', 'SELECT gatepost.grant_user(''check_nobody'')'),
  ('grant_administrator', 'SELECT gatepost.grant_administrator(''check_nobody'')');
SELECT tap('every function is called here', array_agg(f.name)) FROM functions AS f WHERE f.name NOT IN (SELECT name FROM calls);

SELECT gatepost.token_draw() > 0 AS drawn \g /dev/null
CREATE VIEW may AS
SELECT r.role, c.name, c.statement, outcome(r.role, c.statement) AS outcome,
       r.role = ANY (l.lists) OR (r.role = 'check_everything' AND l.lists = ARRAY[:'user'] AND c.statement !~ '(leases|advisory_locks|refusals|history|waiters|semaphores)$') AS wanted
FROM (VALUES (:'user'), (:'administrator'), ('check_nobody'), ('check_everything')) AS r(role), calls AS c JOIN listed AS l USING (name);
SELECT tap(role || ' may call what the list has, and nothing else',
           array_agg(format('%s: %s', statement, outcome)) FILTER (WHERE outcome <> CASE WHEN wanted THEN 'done' ELSE '42501' END))
FROM may GROUP BY role ORDER BY role;
SELECT tap('members of pg_monitor may ask doctor and stats, and nothing else',
           array_agg(statement) FILTER (WHERE (outcome('check_monitor', statement) = 'done') <> (name IN ('doctor', 'stats_row'))))
FROM calls;

-- relations, directly
CREATE VIEW direct AS
SELECT r.role, s.statement FROM (VALUES (:'user'), (:'administrator'), ('check_nobody'), ('check_everything')) AS r(role),
  pg_class AS c, LATERAL (
    SELECT format(f, 'gatepost.' || c.relname) AS statement FROM unnest(CASE c.relkind
      WHEN 'S' THEN ARRAY['SELECT nextval(%L)', 'SELECT setval(%L, 1)', 'SELECT currval(%L)', 'SELECT FROM %s', 'ALTER SEQUENCE %s RESTART']
      ELSE ARRAY['SELECT FROM %s', 'INSERT INTO %s DEFAULT VALUES', 'DELETE FROM %s', 'TRUNCATE %s', 'SELECT FROM %s FOR UPDATE',
                 'ALTER TABLE %s OWNER TO CURRENT_USER', 'CREATE TRIGGER t AFTER INSERT ON %s EXECUTE FUNCTION gatepost.refuse_dml()'] END) AS f
    UNION ALL SELECT format('UPDATE gatepost.%I SET %I = NULL', c.relname, a.attname) FROM pg_attribute AS a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND c.relkind <> 'S') AS s
WHERE c.relnamespace = 'gatepost'::regnamespace AND c.relkind IN ('r', 'v', 'S');
SELECT tap('no list opens a relation of gatepost but the views', array_agg(format('%s, %s', role, statement)))
FROM direct WHERE outcome(role, statement) = 'done' AND NOT (role = :'user' AND statement IN ('SELECT FROM gatepost.leases', 'SELECT FROM gatepost.advisory_locks', 'SELECT FROM gatepost.refusals', 'SELECT FROM gatepost.history', 'SELECT FROM gatepost.fenced_tables', 'SELECT FROM gatepost.waiters', 'SELECT FROM gatepost.semaphores'))
  AND NOT (role = :'administrator' AND statement IN ('SELECT FROM gatepost.rules', 'SELECT FROM gatepost.stats'));
SELECT tap('nor the schema', array_agg(role)) FROM (VALUES (:'user'), (:'administrator')) AS r(role)
WHERE outcome(role, 'CREATE TABLE gatepost.mine ()') <> '42501';
