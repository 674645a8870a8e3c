-- Protecting again, taking the protection away, and what the view fenced_tables says is missing.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE FUNCTION pg_temp.gaps() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT format('%s by %s %s: %s', relation, mode, lease, CASE WHEN guarded THEN 'guarded' ELSE regexp_replace(gaps::text, '_[0-9]+', '_OID', 'g') END)
  FROM gatepost.fenced_tables ORDER BY relation::text
$$;
CREATE FUNCTION pg_temp.triggers() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT format('%s: %s %s', tgrelid::regclass, regexp_replace(tgname, '[0-9]+$', 'OID'), tgenabled) FROM pg_trigger WHERE tgname LIKE 'zz%' ORDER BY tgrelid::regclass::text, tgname
$$;

CREATE TABLE t (id int, fence bigint);
CREATE TABLE p (id int, place text, fence bigint) PARTITION BY LIST (place);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN ('1');
CREATE TABLE base (id int, fence bigint);
CREATE TABLE child () INHERITS (base);
SELECT gatepost.fence_protect('t', 'a');
SELECT gatepost.fence_protect('p', 'a');
SELECT gatepost.fence_protect('base', 'a');
SELECT pg_temp.gaps();
SELECT pg_temp.triggers();

-- each kind in place of each other leaves nothing of it behind
SELECT gatepost.fence_protect(r, '{id}'), gatepost.fence_protect(r, NULL, 'fence'), gatepost.fence_protect(r, 'b'),
  gatepost.fence_protect(r, 'b', 'fence', 'any'), gatepost.fence_protect(r, '{id}'), gatepost.fence_protect(r, 'b'), gatepost.fence_protect(r, 'b', CASE WHEN r <> 't'::regclass THEN 'fence'::name END)
FROM unnest(ARRAY['t', 'p', 'base']::regclass[]) r;
SELECT pg_temp.gaps();
SELECT pg_temp.triggers();

-- a part of a tree has the tree's protection
SELECT r, pg_temp.try(format('SELECT gatepost.fence_protect(%L, ''c'')', r)), pg_temp.try(format('SELECT gatepost.fence_protect(%L, ''b'', ''fence'')', r)),
  pg_temp.try(format('SELECT gatepost.fence_unprotect(%L)', r)) FROM unnest(ARRAY['p1', 'child']::regclass[]) r;
SELECT count(*) FROM pg_temp.triggers();

-- disabled, and mended by protecting again
ALTER TABLE t DISABLE TRIGGER zz_gatepost_fence;
ALTER TABLE p1 DISABLE TRIGGER USER;
ALTER TABLE base DISABLE TRIGGER USER;
SELECT pg_temp.gaps();
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
SELECT gatepost.fence_protect(r, 'b', CASE WHEN r <> 't'::regclass THEN 'fence'::name END) FROM unnest(ARRAY['t', 'p', 'base']::regclass[]) r;
SELECT pg_temp.gaps();
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
-- enabled for the origin or for replicas only; ENABLE TRIGGER ALL, as at the end of a dump, is mended at once
ALTER TABLE t ENABLE REPLICA TRIGGER zz_gatepost_fence;
DO $$ BEGIN EXECUTE format('ALTER TABLE p1 ENABLE REPLICA TRIGGER zz_gatepost_fence_rows_%s', 'p'::regclass::oid); END $$;
SELECT pg_temp.gaps();
ALTER TABLE t ENABLE TRIGGER ALL;
ALTER TABLE p1 ENABLE TRIGGER ALL;
SELECT pg_temp.gaps();
ALTER EVENT TRIGGER gatepost_fences_follow_ddl DISABLE;
ALTER TABLE t ENABLE TRIGGER ALL;
ALTER TABLE p ENABLE TRIGGER ALL;
SELECT pg_temp.gaps();
SELECT gatepost.fence_protect(r, 'b', CASE WHEN r <> 't'::regclass THEN 'fence'::name END) FROM unnest(ARRAY['t', 'p', 'base']::regclass[]) r;
SELECT pg_temp.gaps();

-- dropped by hand: the view goes on to list what is left of the protection
DROP TRIGGER zz_gatepost_fence ON p;
DROP TRIGGER zz_gatepost_fence_row ON child;
SELECT pg_temp.gaps();
SELECT gatepost.fence_protect('p', 'c', 'fence');
SELECT gatepost.fence_protect('base', 'b', 'fence');
SELECT pg_temp.gaps();
DROP TRIGGER zz_gatepost_fence ON p1;
DROP TRIGGER zz_gatepost_fence ON p;
SELECT pg_temp.try('SELECT gatepost.fence_unprotect(''p1'')');
SELECT gatepost.fence_unprotect('p');
SELECT pg_temp.gaps();

-- linked while nobody followed
SELECT gatepost.fence_protect('p', 'b', 'fence');
CREATE TABLE p2 PARTITION OF p FOR VALUES IN ('2');
CREATE TABLE born () INHERITS (base);
CREATE TABLE first_child () INHERITS (t);
SELECT pg_temp.gaps();
ALTER EVENT TRIGGER gatepost_fences_follow_ddl ENABLE ALWAYS;
-- only a command about links or triggers has a look, since a dump makes what is missing one by one
CREATE TABLE unrelated (id int);
ALTER TABLE unrelated ADD v int;
SELECT count(*) FROM gatepost.fenced_tables WHERE NOT guarded;
-- in its own tree
CREATE TABLE related () INHERITS (unrelated);
SELECT count(*) FROM gatepost.fenced_tables WHERE NOT guarded;
CREATE TABLE p3 PARTITION OF p FOR VALUES IN ('3');
ALTER TABLE base ENABLE TRIGGER zz_gatepost_fence;
CREATE TABLE second_child () INHERITS (t);
SELECT pg_temp.gaps();
DROP TABLE first_child, second_child;

-- by column: a trigger that comes after ours could lower the mark
SELECT gatepost.fence_protect('t', NULL, 'fence');
CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION pass();
CREATE TRIGGER zzz_after AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION pass();
CREATE TRIGGER zzz_statement BEFORE UPDATE ON t EXECUTE FUNCTION pass();
CREATE TRIGGER zzz_delete BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION pass();
SELECT pg_temp.gaps();
CREATE TRIGGER zzz BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION pass();
SELECT pg_temp.gaps();
ALTER TABLE t DISABLE TRIGGER zzz;
SELECT pg_temp.gaps();
ALTER TRIGGER zz_gatepost_fence_row ON t RENAME TO "0";
SELECT pg_temp.gaps();

-- taken away
SELECT r, pg_temp.try(format('SELECT gatepost.fence_unprotect(%L)', r)), pg_temp.try(format('SELECT gatepost.fence_unprotect(%L)', r))
FROM unnest(ARRAY['t', 'p', 'base']::regclass[]) r;
SELECT pg_temp.gaps();
SELECT pg_temp.triggers();
SELECT pg_temp.try('INSERT INTO t VALUES (1)'), pg_temp.try('TRUNCATE t, p, base');
-- rolled back
BEGIN;
SELECT gatepost.fence_protect('base', 'b');
SELECT pg_temp.try('INSERT INTO child VALUES (1)');
ROLLBACK;
SELECT pg_temp.try('INSERT INTO child VALUES (1)');
-- one made by hand for some events only is shown as such
CREATE TRIGGER half BEFORE TRUNCATE ON t EXECUTE FUNCTION gatepost.fence_by_lease('b');
ALTER TABLE t ENABLE ALWAYS TRIGGER half;
SELECT pg_temp.gaps();
DROP TRIGGER half ON t;
-- triggers of the functions that fence_protect did not make
CREATE TRIGGER mine BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION gatepost.fence_by_lease();
SELECT pg_temp.gaps();
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
SELECT pg_temp.ask('SELECT gatepost.fence_by_lease()');

DROP TABLE t, p, base, unrelated CASCADE;
DROP FUNCTION pass;
