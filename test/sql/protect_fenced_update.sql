-- fenced_update of protected tables: by column its token is the one that counts; by lease and template the transaction
-- must use the name.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE TABLE t (id int, place int, v int, fence bigint, PRIMARY KEY (id, place));
CREATE TABLE p (id int, place int, v int, fence bigint, PRIMARY KEY (id, place)) PARTITION BY LIST (place);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO t VALUES (1, 1);
INSERT INTO p VALUES (1, 1);
SELECT gatepost.lease_acquire('x:1', '1 h') AS old \gset
SELECT gatepost.lease_release('x:1', :old);
SELECT gatepost.lease_acquire('x:1', '1 h') AS token \gset
CREATE FUNCTION pg_temp.each(token bigint) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT pg_temp.ask(format('SELECT gatepost.fenced_update(%L, ''{"id": 1, "place": 1}'', ''{"v": 1}'', $1)', r), token)
  FROM unnest(ARRAY['t', 'p', 'p1']) r
$$;

SELECT gatepost.fence_protect(r, 'x:1') FROM unnest(ARRAY['t', 'p']::regclass[]) r;
SELECT pg_temp.each(:token);
BEGIN; SELECT gatepost.fence_use('x:1', :token); SELECT pg_temp.each(:token); ROLLBACK;
SELECT gatepost.fence_protect(r, 'x:{id}') FROM unnest(ARRAY['t', 'p']::regclass[]) r;
SELECT pg_temp.each(:token);
BEGIN; SELECT gatepost.fence_use('x:1', :token); SELECT pg_temp.each(:token); ROLLBACK;

-- by column no use is needed, and with another use the argument counts
SELECT gatepost.fence_protect(r, NULL, 'fence') FROM unnest(ARRAY['t', 'p']::regclass[]) r;
SELECT pg_temp.each(:old);
SELECT fence = :old FROM t UNION ALL SELECT fence = :old FROM p;
BEGIN; SELECT gatepost.fence_use('x:1', :token); SELECT pg_temp.each(:old); ROLLBACK;
SELECT pg_temp.each(:token);
SELECT fence = :token FROM t UNION ALL SELECT fence = :token FROM p;
SELECT regexp_replace(pg_temp.each(:old), '[0-9]{9,}', 'OLD');
-- a row that moves
SELECT gatepost.fenced_update('p', '{"id": 1, "place": 1}', '{"place": 2}', :token);
SELECT tableoid::regclass, fence = :token FROM p;
SELECT gatepost.fenced_update('p', '{"id": 1, "place": 2}', '{"place": 1}', :token);
-- the token is for this table, not for what triggers write elsewhere, nor for what comes after
CREATE TABLE beside (id int, fence bigint);
SELECT gatepost.fence_protect('beside', NULL, 'fence');
CREATE FUNCTION write_beside() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO beside VALUES (NEW.id); RETURN NEW; END';
CREATE TRIGGER a AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION write_beside();
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''t'', ''{"id": 1, "place": 1}'', ''{"v": 2}'', $1)', :token);
BEGIN; SELECT gatepost.fence_use('x:1', :token); SELECT pg_temp.ask('SELECT gatepost.fenced_update(''t'', ''{"id": 1, "place": 1}'', ''{"v": 2}'', $1)', :token); ROLLBACK;
SELECT pg_temp.try('UPDATE t SET v = 3');
DROP TRIGGER a ON t;
-- a trigger that writes other rows of the table does so with its token
ALTER TABLE t DISABLE TRIGGER USER;
INSERT INTO t VALUES (2, 1, 0, 1);
ALTER TABLE t ENABLE TRIGGER USER;
CREATE FUNCTION write_second() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE t SET v = 9 WHERE id = 2; RETURN NEW; END';
CREATE TRIGGER a AFTER UPDATE ON t FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION write_second();
SELECT gatepost.fenced_update('t', '{"id": 1, "place": 1}', '{"v": 4}', :token);
SELECT id, v, fence = :token FROM t ORDER BY id;
DROP TRIGGER a ON t;

-- where a lease is named beside the column, who is superseded is refused at rows too that nobody has written since
SELECT gatepost.fence_protect(r, 'x:1', 'fence') FROM unnest(ARRAY['t', 'p']::regclass[]) r;
SELECT gatepost.lease_release('x:1', :token);
SELECT gatepost.lease_acquire('x:1', '1 h') AS next \gset
SELECT pg_temp.each(:token);
BEGIN; SELECT gatepost.fence_use('x:1', :next); SELECT pg_temp.each(:next); ROLLBACK;
-- nor does another token than the one in use come in, which would lock the holder out
SELECT gatepost.lease_acquire('x:2', '1 h') AS later \gset
BEGIN; SELECT gatepost.fence_use('x:1', :next); SELECT regexp_replace(pg_temp.each(token), '[0-9]{9,}', 'OTHER') FROM (VALUES (:token), (:later)) AS u(token); ROLLBACK;
-- of several permits in use each is one
SELECT gatepost.fence_protect('t', 's', 'fence');
SELECT gatepost.semaphore_acquire('s', 2, '1 h') AS first \gset
SELECT gatepost.semaphore_acquire('s', 2, '1 h') AS second \gset
BEGIN; SELECT gatepost.fence_use('s', :first), gatepost.fence_use('s', :second);
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''t'', ''{"id": 1, "place": 1}'', ''{"v": 1}'', $1)', token) FROM (VALUES (:first), (:second)) AS u(token);
ROLLBACK;
SELECT v, fence = :token FROM t WHERE id = 1;
SELECT gatepost.fence_protect(r, NULL, 'fence') FROM unnest(ARRAY['t', 'p']::regclass[]) r;

-- tokens of another issuer: any positive number, and no history is read into it
SELECT gatepost.fence_protect('t', NULL, 'fence', 'any');
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''t'', ''{"id": 1, "place": 1}'', ''{"v": 5}'', $1)', token) FROM (VALUES
  (9223372036854775806), (9223372036854775807), (9223372036854775805), (0), (-1), (NULL)) AS u(token);
SELECT v, fence FROM t WHERE id = 1;
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''p'', ''{"id": 1, "place": 1}'', ''{"v": 5}'', 9007199254740991)');
-- a split history
SELECT gatepost.fence_protect('t', NULL, 'fence');
ALTER TABLE t DISABLE TRIGGER USER;
UPDATE t SET fence = (:token # 1) - 320;
ALTER TABLE t ENABLE TRIGGER USER;
SELECT left(pg_temp.each(:token), 5);
SELECT gatepost.fence_protect('t', NULL, 'fence', 'any');
SELECT pg_temp.each(:token);
DROP TABLE t, p, beside;
DROP FUNCTION write_beside, write_second;
