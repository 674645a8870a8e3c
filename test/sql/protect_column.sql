-- Protection: what becomes of each write, kind column.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\set writes :srcdir '/writes.sql'
\i :writes
\pset format unaligned
\pset fieldsep ' | '

SELECT pg_temp.make_tables('column');
SELECT * FROM pg_temp.cells('column');

-- the mark is the token in use, never what a statement writes
\pset tuples_only on
SET search_path = public, pg_catalog;
CREATE TABLE t (id int PRIMARY KEY, v int, fence bigint);
SELECT gatepost.fence_protect('t', NULL, 'fence');
SELECT gatepost.lease_acquire('t', '1 h') AS first \gset
BEGIN;
SELECT gatepost.fence_use('t', :first);
INSERT INTO t VALUES (1, 0, NULL), (2, 0, 9007199254740991), (3, 0, :first);
SELECT id, fence = :first FROM t ORDER BY id;
COMMIT;
SELECT gatepost.lease_release('t', :first);
SELECT gatepost.lease_acquire('t', '1 h') AS second \gset
BEGIN;
SELECT gatepost.fence_use('t', :second);
UPDATE t SET v = 1, fence = :first WHERE id = 1;
UPDATE t SET fence = NULL WHERE id = 2;
COMMIT;
SELECT id, fence = :second FROM t ORDER BY id;
-- a holder who has been superseded and writes back the newer mark that he has just read
SELECT gatepost.lease_acquire('another', '1 h') AS third \gset
BEGIN;
SELECT gatepost.fence_use('another', :third);
UPDATE t SET v = 2 WHERE id = 1;
COMMIT;
BEGIN;
SELECT gatepost.fence_use('t', :second);
SELECT left(pg_temp.try('UPDATE t SET v = 666, fence = $1 WHERE id = 1', :third), 5), pg_temp.detail('UPDATE t SET v = 666 WHERE id = 1') = format('Token %s is older than %s, with which the row of "t" was written.', :second, :third);
ROLLBACK;
-- a mark that is NULL lets every token in
ALTER TABLE t DISABLE TRIGGER USER;
UPDATE t SET fence = NULL;
ALTER TABLE t ENABLE TRIGGER USER;
BEGIN; SELECT gatepost.fence_use('t', :second); UPDATE t SET v = 3; COMMIT;
SELECT DISTINCT fence = :second FROM t;
-- with a lease named, that one's token counts, whatever else is in use
SELECT gatepost.fence_protect('t', 't', 'fence');
BEGIN;
SELECT gatepost.fence_use('another', :third);
SELECT pg_temp.try('UPDATE t SET v = 4');
SELECT gatepost.fence_use('t', :second);
UPDATE t SET v = 4;
SELECT DISTINCT fence = :second FROM t;
COMMIT;
-- a trigger that comes later in the alphabet has the last word; the view says so
CREATE FUNCTION lower_mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.fence := 1; RETURN NEW; END';
CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION lower_mark();
BEGIN; SELECT gatepost.fence_use('t', :second); UPDATE t SET v = 5; COMMIT;
SELECT DISTINCT fence = :second, guarded FROM t, gatepost.fenced_tables WHERE relation = 't'::regclass;
ALTER TRIGGER a ON t RENAME TO zzz;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
DROP TRIGGER zzz ON t;
-- a deleted row takes its mark along
BEGIN; SELECT gatepost.fence_use('t', :second); DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (3); COMMIT;
SELECT fence = :second FROM t WHERE id = 3;

-- marks of a server that was promoted apart: same generation, another nonce. Which is later nobody can say
ALTER TABLE t DISABLE TRIGGER USER;
UPDATE t SET fence = (:second # 1) - 320 WHERE id = 1;
UPDATE t SET fence = 7 WHERE id = 2;
ALTER TABLE t ENABLE TRIGGER USER;
BEGIN;
SELECT gatepost.fence_use('t', :second);
SELECT left(pg_temp.try('UPDATE t SET v = 6 WHERE id = 1'), 5), left(pg_temp.try('DELETE FROM t WHERE id = 1'), 5), pg_temp.try('UPDATE t SET v = 6 WHERE id = 2');
ROLLBACK;
-- numbers of another issuer are only compared
SELECT gatepost.fence_protect('t', 't', 'fence', 'any');
BEGIN;
SELECT gatepost.fence_use('t', :second);
SELECT pg_temp.try('UPDATE t SET v = 6 WHERE id = 1');
ROLLBACK;
-- a fence column that has been renamed guards by refusing, until the table is protected again
ALTER TABLE t RENAME fence TO mark;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
SELECT pg_temp.try('UPDATE t SET v = 7 WHERE id = 1');
SELECT gatepost.fence_protect('t', 't', 'mark', 'any');
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
-- one of another type or of a generated value keeps no mark, and shuts the table too
ALTER TABLE t ALTER mark TYPE numeric;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
BEGIN; SELECT gatepost.fence_use('t', :second); SELECT pg_temp.try('UPDATE t SET v = 7 WHERE id = 1'); ROLLBACK;
ALTER TABLE t DROP mark, ADD mark bigint GENERATED ALWAYS AS (id) STORED;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
BEGIN;
SELECT gatepost.fence_use('t', :second);
SELECT sql, pg_temp.try(sql) FROM unnest(ARRAY['INSERT INTO t VALUES (4)', 'UPDATE t SET v = 7', 'DELETE FROM t']) WITH ORDINALITY AS u(sql, n) ORDER BY n;
ROLLBACK;
-- one that counts by itself is written by statements still, but not always by fenced_update
ALTER TABLE t DROP mark, ADD mark bigint GENERATED ALWAYS AS IDENTITY;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
ALTER TABLE t ALTER mark DROP IDENTITY;
SELECT guarded, gaps FROM gatepost.fenced_tables WHERE relation = 't'::regclass;
-- a use in the statement that writes counts, as by template
BEGIN;
WITH u AS MATERIALIZED (SELECT gatepost.fence_use('t', :second)) UPDATE t SET v = 8 FROM u WHERE id = 1;
SELECT mark = :second FROM t WHERE id = 1;
ROLLBACK;
DROP TABLE t;
DROP FUNCTION lower_mark;
DROP SCHEMA "column" CASCADE;
