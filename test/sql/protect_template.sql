-- Protection: what becomes of each write, kind template.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\set writes :srcdir '/writes.sql'
\i :writes
\pset format unaligned
\pset fieldsep ' | '

SELECT pg_temp.make_tables('template');
SELECT * FROM pg_temp.cells('template');

-- the names of both the old and the new row, as they are stored in the end
\pset tuples_only on
SET search_path = public, pg_catalog;
CREATE TABLE t (id int, v text);
SELECT gatepost.fence_protect('t', 't:{id}');
SELECT gatepost.lease_acquire('t:1', '1 h') AS one \gset
SELECT gatepost.lease_acquire('t:2', '1 h') AS two \gset
BEGIN;
SELECT gatepost.fence_use('t:1', :one), gatepost.fence_use('t:2', :two);
INSERT INTO t VALUES (1), (2);
COMMIT;
BEGIN;
SELECT gatepost.fence_use('t:1', :one);
SELECT pg_temp.try('UPDATE t SET v = 1 WHERE id = 1'), pg_temp.try('UPDATE t SET id = 2 WHERE id = 1'), pg_temp.try('UPDATE t SET id = 1 WHERE id = 2'), pg_temp.try('UPDATE t SET v = 1'),
  pg_temp.try('DELETE FROM t'), pg_temp.try('INSERT INTO t VALUES (1), (1), (2)'), pg_temp.try('UPDATE t SET id = NULL WHERE id = 1');
SELECT gatepost.fence_use('t:2', :two);
SELECT pg_temp.try('UPDATE t SET id = 3 - id');
ROLLBACK;
-- a trigger that changes the column, before or after ours in the alphabet
CREATE FUNCTION other_id() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 2; RETURN NEW; END';
CREATE TRIGGER a BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION other_id();
BEGIN; SELECT gatepost.fence_use('t:1', :one); SELECT pg_temp.try('INSERT INTO t VALUES (1)'), pg_temp.try('UPDATE t SET v = 1 WHERE id = 1'); ROLLBACK;
ALTER TRIGGER a ON t RENAME TO zzz;
BEGIN; SELECT gatepost.fence_use('t:1', :one); SELECT pg_temp.try('INSERT INTO t VALUES (1)'), pg_temp.try('UPDATE t SET v = 1 WHERE id = 1'); ROLLBACK;
BEGIN; SELECT gatepost.fence_use('t:2', :two); SELECT pg_temp.try('INSERT INTO t VALUES (1)'); SELECT count(*) FROM t WHERE id = 2; ROLLBACK;
DROP TRIGGER zzz ON t;
-- a trigger that leaves the row out, and one that writes in its place
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER zzz BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION leave_out();
SELECT pg_temp.try('INSERT INTO t VALUES (1)');
DROP TRIGGER zzz ON t;
CREATE FUNCTION write_two() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE t SET v = 2 WHERE id = 2; RETURN NULL; END';
CREATE TRIGGER zzz AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION write_two();
BEGIN; SELECT gatepost.fence_use('t:1', :one); SELECT pg_temp.try('INSERT INTO t VALUES (1)'); ROLLBACK;
DROP TRIGGER zzz ON t;
-- judged when the rows are there: a use within the statement counts
BEGIN;
WITH u AS MATERIALIZED (SELECT gatepost.fence_use('t:1', :one)) UPDATE t SET v = 'late' FROM u WHERE id = 1;
ROLLBACK;
-- a row that moves to another partition has both names, as any other
CREATE TABLE p (id int, v text) PARTITION BY LIST (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO p VALUES (1), (2);
SELECT gatepost.fence_protect('p', 't:{id}');
BEGIN;
SELECT gatepost.fence_use('t:1', :one);
SELECT pg_temp.try('UPDATE p SET v = 1 WHERE id = 1'), pg_temp.try('UPDATE p SET id = 2 WHERE id = 1'), pg_temp.try('UPDATE p SET id = 1 WHERE id = 2');
SELECT gatepost.fence_use('t:2', :two);
SELECT pg_temp.try('UPDATE p SET id = 3 - id');
ROLLBACK;
-- each type, with the text that it has in a name
CREATE TABLE typed (a smallint, b int, c bigint, d uuid, e boolean, f text, g varchar(5));
SELECT gatepost.fence_protect('typed', '{a},{b},{c},{d},{e},{f},{g}');
SET bytea_output = escape;
SET extra_float_digits = 0;
SELECT pg_temp.try('INSERT INTO typed VALUES (-32768, -2147483648, -9223372036854775808, ''A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'', true, '' x'', ''é'')'),
  pg_temp.try('INSERT INTO typed VALUES (32767, 2147483647, 9223372036854775807, ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'', false, ''{}'', ''a  '')'),
  pg_temp.try('INSERT INTO typed VALUES (0, 0, 0, ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'', NULL, ''x'', ''a'')');
SELECT gatepost.fence_protect('typed', '{f}');
SELECT pg_temp.try('INSERT INTO typed (f) VALUES (repeat(''long'', 300))'), pg_temp.try('INSERT INTO typed (f) VALUES (repeat(md5(''x''), 10000))');
-- a column that no longer fits shuts the table, and the view says so
ALTER TABLE t RENAME id TO number;
ALTER TABLE typed DROP f, ADD f text GENERATED ALWAYS AS (g || g) STORED;
SELECT gatepost.fence_protect('t', 't:{number}');
ALTER TABLE t ALTER number TYPE numeric;
SELECT relation, guarded, gaps FROM gatepost.fenced_tables WHERE relation::text IN ('t', 'p', 'typed') ORDER BY relation::text;
ALTER TABLE t DROP number;
SELECT relation, guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
SELECT pg_temp.try('INSERT INTO t VALUES (1)'), pg_temp.try('INSERT INTO typed (g) VALUES (''a'')');
DROP TABLE t, p, typed;
DROP FUNCTION other_id, leave_out, write_two;
DROP SCHEMA template CASCADE;
