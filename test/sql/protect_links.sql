-- Protection follows tables: partitions and children that come and go, names that change, and what is dropped.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE FUNCTION pg_temp.gaps() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT format('%s by %s %s%s: %s', relation, mode, lease, fence_column, CASE WHEN guarded THEN 'guarded' ELSE gaps::text END)
  FROM gatepost.fenced_tables ORDER BY relation::text
$$;
CREATE FUNCTION pg_temp.writes(VARIADIC tables text[]) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT t || ': ' || pg_temp.try(format('UPDATE %s SET v = 1', t)) FROM unnest(tables) t
$$;

-- only what is below is protected, and rows come to it through what is above
CREATE TABLE p (id int, place int, v int, fence bigint) PARTITION BY LIST (place);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE p21 PARTITION OF p2 FOR VALUES IN (1);
INSERT INTO p VALUES (1, 1), (1, 2);
SELECT gatepost.fence_protect('p1', 'x');
SELECT pg_temp.writes('p1', 'p', 'p2', 'p21');
SELECT pg_temp.try('DELETE FROM p'), pg_temp.try('UPDATE p SET place = 2 WHERE place = 1'), pg_temp.try('UPDATE p SET place = 1 WHERE place = 2'),
  pg_temp.try('INSERT INTO p VALUES (1, 1)'), pg_temp.try('TRUNCATE p'), pg_temp.try('COPY p FROM PROGRAM ''echo 1,1,1,'' (FORMAT csv)'),
  pg_temp.try('MERGE INTO p USING (VALUES (1)) s(id) ON p.id = s.id WHEN MATCHED THEN DELETE');
SELECT gatepost.fence_protect('p2', 'x');
SELECT pg_temp.gaps();
-- the parent, otherwise and alike
SELECT pg_temp.try('SELECT gatepost.fence_protect(''p'', ''y'')'), pg_temp.try('SELECT gatepost.fence_protect(''p'', ''x'')');
SELECT pg_temp.gaps();
SELECT pg_temp.writes('p', 'p1', 'p2', 'p21');

-- in each kind: detached it stays protected, and attached again
CREATE FUNCTION pg_temp.back_and_forth() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  ALTER TABLE p DETACH PARTITION p2;
  RETURN QUERY SELECT 'apart: ' || g FROM pg_temp.gaps() g UNION ALL SELECT pg_temp.writes('p', 'p2', 'p21');
  ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
  RETURN QUERY SELECT 'again: ' || g FROM pg_temp.gaps() g UNION ALL SELECT pg_temp.writes('p', 'p2', 'p21');
END $$;
SELECT pg_temp.back_and_forth();
SELECT gatepost.fence_protect('p', 'x:{id}');
SELECT pg_temp.back_and_forth();
SELECT gatepost.fence_protect('p', NULL, 'fence');
SELECT pg_temp.back_and_forth();
SELECT tgrelid::regclass, replace(tgname, 'p'::regclass::oid::text, 'oid of p') FROM pg_trigger WHERE tgname LIKE 'zz%' ORDER BY tgrelid::regclass::text, tgname;
ALTER TABLE p DETACH PARTITION p2 CONCURRENTLY;
SELECT pg_temp.gaps();
SELECT pg_temp.writes('p2', 'p21');
-- one that is protected otherwise cannot come; it can when it is not
SELECT gatepost.fence_protect('p2', 'z');
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
SELECT gatepost.fence_unprotect('p2');
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2);
SELECT pg_temp.gaps();
-- the first partition, and the first child
CREATE TABLE empty (id int, v int) PARTITION BY LIST (id);
SELECT gatepost.fence_protect('empty', 'x');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'empty'::regclass;
CREATE TABLE empty1 PARTITION OF empty FOR VALUES IN (1);
CREATE TABLE lonely (id int, v int);
SELECT gatepost.fence_protect('lonely', 'x');
CREATE TABLE its_child () INHERITS (lonely);
SELECT relation, guarded FROM gatepost.fenced_tables WHERE lease = 'x' ORDER BY relation::text;
SELECT pg_temp.try('INSERT INTO empty1 VALUES (1)'), pg_temp.try('INSERT INTO its_child VALUES (1)');
DROP TABLE empty, lonely CASCADE;
-- a column that the protection needs is not there
CREATE TABLE q (id int);
SELECT gatepost.fence_protect('q', '{id}');
CREATE TABLE q1 (other int) INHERITS (q);
SELECT pg_temp.try('INSERT INTO q1 VALUES (1)');
SELECT pg_temp.gaps();
DROP TABLE p, q CASCADE;

-- plain inheritance: several levels, several parents, given up
CREATE TABLE a (v int);
CREATE TABLE b (v int);
CREATE TABLE below_b () INHERITS (b);
CREATE TABLE c (v int);
INSERT INTO below_b VALUES (0);
SELECT gatepost.fence_protect('a', 'x');
ALTER TABLE b INHERIT a;
SELECT pg_temp.gaps();
SELECT pg_temp.writes('a', 'b', 'below_b');
SELECT gatepost.fence_protect('c', 'y');
ALTER TABLE below_b INHERIT c;
SELECT gatepost.fence_protect('c', 'x');
ALTER TABLE below_b INHERIT c;
SELECT pg_temp.gaps();
ALTER TABLE b NO INHERIT a;
SELECT pg_temp.try('SELECT gatepost.fence_unprotect(''below_b'')'), pg_temp.try('SELECT gatepost.fence_unprotect(''c'')');
SELECT pg_temp.gaps();
SELECT gatepost.fence_protect('c', 'x');
SELECT pg_temp.try('SELECT gatepost.fence_protect(''c'', ''y'')');
SELECT gatepost.fence_unprotect('c');
SELECT pg_temp.gaps();
CREATE SCHEMA later CREATE TABLE born () INHERITS (a);
SELECT pg_temp.gaps();
CREATE TABLE copied (LIKE a INCLUDING ALL);
CREATE TABLE selected AS SELECT * FROM a;
SELECT pg_temp.writes('later.born', 'copied', 'selected');
DROP TABLE a, b, c, copied, selected CASCADE;
DROP SCHEMA later;

-- by whoever links: a table below that is somebody else's is guarded too
CREATE ROLE regress_gatepost_linker;
CREATE ROLE regress_gatepost_owner;
GRANT ALL ON SCHEMA public TO regress_gatepost_linker;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_linker;
GRANT EXECUTE ON FUNCTION gatepost.fence_protect TO regress_gatepost_linker;
SET ROLE regress_gatepost_linker;
CREATE TABLE a (v int);
CREATE TABLE b (v int);
CREATE TABLE below_b () INHERITS (b);
SELECT gatepost.fence_protect('a', 'x');
RESET ROLE;
ALTER TABLE below_b OWNER TO regress_gatepost_owner;
INSERT INTO below_b VALUES (0);
SET ROLE regress_gatepost_linker;
ALTER TABLE b INHERIT a;
RESET ROLE;
SELECT pg_temp.gaps();
SELECT pg_temp.writes('a');
DROP TABLE a, b CASCADE;
REVOKE ALL ON SCHEMA public, gatepost FROM regress_gatepost_linker;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA gatepost FROM regress_gatepost_linker;
DROP ROLE regress_gatepost_linker, regress_gatepost_owner;

-- temporary tables
CREATE TEMP TABLE t (id int, v int, fence bigint);
SELECT gatepost.fence_protect('t', '{id}');
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
DROP TABLE t;

-- names that change
CREATE SCHEMA other;
CREATE TABLE t (id int, v int, fence bigint);
INSERT INTO t VALUES (1);
SELECT gatepost.fence_protect('t', 'x:{id}');
ALTER TABLE t RENAME TO u;
ALTER TABLE u SET SCHEMA other;
ALTER SCHEMA other RENAME TO another;
SELECT pg_temp.writes('another.u');
SELECT pg_temp.gaps();
ALTER TABLE another.u RENAME v TO w;
SELECT pg_temp.try('UPDATE another.u SET w = 1');
-- a column that the name is made of: nothing passes, until it is protected anew
ALTER TABLE another.u RENAME id TO number;
SELECT pg_temp.try('UPDATE another.u SET w = 1'), pg_temp.try('SELECT gatepost.fence_protect(''another.u'', ''x:{number}'')');
SELECT pg_temp.try('UPDATE another.u SET w = 1');
ALTER TABLE another.u ALTER number TYPE numeric;
SELECT pg_temp.try('UPDATE another.u SET w = 1');
ALTER TABLE another.u DROP number;
SELECT pg_temp.try('UPDATE another.u SET w = 1');
SELECT gatepost.fence_protect('another.u', NULL, 'fence');
ALTER TABLE another.u RENAME fence TO mark;
SELECT pg_temp.try('UPDATE another.u SET w = 1');
ALTER TABLE another.u RENAME mark TO fence;
ALTER TABLE another.u ALTER fence TYPE int;
SELECT pg_temp.try('UPDATE another.u SET w = 1');
ALTER TABLE another.u DROP fence;
SELECT pg_temp.try('UPDATE another.u SET w = 1'), pg_temp.try('DELETE FROM another.u');

-- ways up that part and meet again are gone once, not by the million
CREATE TABLE way_0a (id int);
CREATE TABLE way_0b (id int);
SELECT gatepost.fence_protect('way_0a', 'x'), gatepost.fence_protect('way_0b', 'x');
SET statement_timeout = '30 s';
SET client_min_messages = error;
DO $$
BEGIN
  FOR n IN 1 .. 20 LOOP
    EXECUTE format('CREATE TABLE way_%sa () INHERITS (way_%sa, way_%2$sb)', n, n - 1);
    EXECUTE format('CREATE TABLE way_%sb () INHERITS (way_%sa, way_%2$sb)', n, n - 1);
  END LOOP;
END $$;
SELECT count(*), bool_and(guarded) FROM gatepost.fenced_tables WHERE relation::text LIKE 'way\_%';
-- rows are asked for nowhere, until a way is open
SELECT count(*) FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'way\_%' AND tgname = 'zz_gatepost_fence_row';
CREATE TABLE way_in (id int);
ALTER TABLE way_10a INHERIT way_in;
SELECT count(*) FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'way\_%' AND tgname = 'zz_gatepost_fence_row';
DROP TABLE way_0a, way_0b, way_in CASCADE;
RESET client_min_messages;
RESET statement_timeout;

-- dropped: the table, and the extension, which does not go without CASCADE and takes only the protection along
CREATE TABLE t (v int);
SELECT gatepost.fence_protect('t', 'x');
DROP SCHEMA another CASCADE;
SELECT pg_temp.gaps();
\set VERBOSITY sqlstate
DROP EXTENSION gatepost;
\set VERBOSITY terse
DROP EXTENSION gatepost CASCADE;
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass;
CREATE EXTENSION gatepost;
SELECT pg_temp.gaps();
DROP TABLE t;
