-- The key must be exactly the columns of a unique, immediate, whole index: only then is it one row.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

-- composite keys: any order of the columns, no fewer, no more
CREATE TABLE keys_composite (a int, b text, c date, v text, fence bigint, PRIMARY KEY (a, b, c));
INSERT INTO keys_composite SELECT a, b, c, 'untouched' FROM generate_series(1, 2) AS a, (VALUES ('x'), ('y')) AS b(b), (VALUES ('2026-01-01'::date), ('2026-01-02')) AS c(c);
CREATE FUNCTION pg_temp.write(target regclass, key jsonb, changes jsonb DEFAULT '{"v": "written"}', token bigint DEFAULT 7) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.ask(format('SELECT gatepost.fenced_update(%L, %L, %L, %s)', target, key, changes, token))
$$;
SELECT pg_temp.write('keys_composite', '{"c": "2026-01-02", "a": 2, "b": "x"}');
SELECT * FROM keys_composite WHERE v <> 'untouched';
SELECT pg_temp.write('keys_composite', '{"a": 2, "b": "x"}');
SELECT pg_temp.write('keys_composite', '{"a": 2, "b": "x", "c": "2026-01-02", "v": "written"}');
SELECT pg_temp.write('keys_composite', '{"a": 2, "b": "x", "c": null}');
SELECT pg_temp.write('keys_composite', '{"a": 3, "b": "x", "c": "2026-01-02"}');
-- the same key twice in the object: the last one counts, as in any jsonb
SELECT pg_temp.write('keys_composite', '{"a": 9, "b": "x", "c": "2026-01-01", "a": 1}');
SELECT count(*) FROM keys_composite WHERE v = 'written';

-- no index, a plain one, a unique one that does not hold for the row alone
CREATE TABLE keys_many (id int, plain int, part int, expr text, defer int NOT NULL, good int, two int, incl int, v text, fence bigint, hashed int);
INSERT INTO keys_many VALUES (1, 1, 1, 'a', 1, 1, 1, 1, 'untouched', NULL, 1), (2, 2, 2, 'b', 2, 2, NULL, 2, 'untouched', NULL, 2);
SELECT pg_temp.write('keys_many', '{"id": 1}');
CREATE INDEX ON keys_many (plain);
SELECT pg_temp.write('keys_many', '{"plain": 1}');
CREATE UNIQUE INDEX keys_part ON keys_many (part) WHERE part > 0;
SELECT pg_temp.write('keys_many', '{"part": 1}');
CREATE UNIQUE INDEX keys_expr ON keys_many (lower(expr));
SELECT pg_temp.write('keys_many', '{"expr": "a"}');
CREATE UNIQUE INDEX keys_expr_two ON keys_many (id, lower(expr));
SELECT pg_temp.write('keys_many', '{"id": 1}'), pg_temp.write('keys_many', '{"id": 1, "expr": "a"}');
ALTER TABLE keys_many ADD CONSTRAINT keys_defer UNIQUE (defer) DEFERRABLE;
SELECT pg_temp.write('keys_many', '{"defer": 1}');
CREATE INDEX ON keys_many USING hash (hashed);
SELECT pg_temp.write('keys_many', '{"hashed": 1}');
ALTER TABLE keys_many ADD CONSTRAINT keys_excl EXCLUDE USING btree (hashed WITH =);
SELECT pg_temp.write('keys_many', '{"hashed": 1}');
SELECT count(*) FROM keys_many WHERE v <> 'untouched';

-- a unique index, a unique constraint, one with included columns, one beside unfit ones of the same columns
CREATE UNIQUE INDEX ON keys_many (good);
SELECT pg_temp.write('keys_many', '{"good": 1}', '{"v": "by index"}');
CREATE UNIQUE INDEX ON keys_many (incl) INCLUDE (id, v);
SELECT pg_temp.write('keys_many', '{"incl": 1}', '{"v": "by the key columns"}'), pg_temp.write('keys_many', '{"incl": 1, "id": 1}');
CREATE UNIQUE INDEX ON keys_many (part);
SELECT pg_temp.write('keys_many', '{"part": 1}', '{"v": "by the whole one"}');
CREATE UNIQUE INDEX ON keys_many (id DESC NULLS LAST, good);
SELECT pg_temp.write('keys_many', '{"id": 1, "good": 1}', '{"v": "descending"}');
-- nullable unique columns: NULL is no key, a value is
CREATE UNIQUE INDEX ON keys_many (two);
SELECT pg_temp.write('keys_many', '{"two": null}'), pg_temp.write('keys_many', '{"two": 1}', '{"v": "nullable"}');
CREATE UNIQUE INDEX ON keys_many (two, good) NULLS NOT DISTINCT;
SELECT pg_temp.write('keys_many', '{"two": null, "good": 2}'), pg_temp.write('keys_many', '{"two": 1, "good": 1}', '{"v": "nulls not distinct"}');
SELECT id, v, fence FROM keys_many ORDER BY id;
-- an index that is not valid holds nothing
CREATE TABLE keys_invalid (id int, v text, fence bigint);
INSERT INTO keys_invalid VALUES (1), (1);
CREATE UNIQUE INDEX CONCURRENTLY keys_invalid_id ON keys_invalid (id);
SELECT indisvalid FROM pg_index WHERE indexrelid = 'keys_invalid_id'::regclass;
SELECT pg_temp.write('keys_invalid', '{"id": 1}');

-- keys are compared by the operator of their index
CREATE TABLE keys_types (id int, n numeric UNIQUE, f float8 UNIQUE, c char(5) UNIQUE, t timestamptz UNIQUE, u uuid UNIQUE,
  j jsonb UNIQUE, a int[] UNIQUE, e pg_lsn UNIQUE, b boolean UNIQUE, iv interval UNIQUE, v text, fence bigint);
INSERT INTO keys_types VALUES (1, 1.50, 'NaN', 'ab', '2026-01-01 00:00+00', '6f1c3d3e-0000-4000-8000-000000000001', '{"a": 1, "b": 2}',
  '{1,2}', '0/1', true, '1 day', NULL, NULL);
SELECT key, pg_temp.write('keys_types', key, jsonb_build_object('v', key::text)) FROM (VALUES
  ('{"n": 1.5}'::jsonb), ('{"n": "1.5000"}'), ('{"f": "NaN"}'), ('{"c": "ab"}'), ('{"c": "ab   "}'), ('{"t": "2026-01-01T09:00:00+09"}'),
  ('{"u": "6F1C3D3E-0000-4000-8000-000000000001"}'), ('{"j": {"b": 2, "a": 1.0}}'), ('{"a": [1, 2]}'), ('{"e": "0/1"}'), ('{"b": true}'),
  ('{"iv": "24:00:00"}'), ('{"n": 1.51}'), ('{"c": "abc"}'), ('{"b": "no"}'), ('{"c": "abcdef"}')) AS v(key);

CREATE TYPE keys_mood AS ENUM ('sad', 'ok');
CREATE TYPE keys_pair AS (a int, b text);
CREATE DOMAIN keys_code AS varchar(5) CHECK (VALUE <> '');
CREATE TABLE keys_more (vc varchar(5) UNIQUE, nm name UNIQUE, qc "char" UNIQUE, e keys_mood UNIQUE, p keys_pair UNIQUE, d keys_code UNIQUE,
  rc regclass UNIQUE, r int4range UNIQUE, ta text[] UNIQUE, ba bytea UNIQUE, ip inet UNIQUE, vb varbit UNIQUE, dt date UNIQUE, v text, fence bigint);
INSERT INTO keys_more VALUES ('ab', 'n', 'q', 'ok', '(1,x)', 'code', 'pg_class', '[1,3]', '{a,"b c"}', '\x00ff', '10.0.0.1', '101', 'infinity');
SELECT key, pg_temp.write('keys_more', key, jsonb_build_object('v', key::text)) FROM (VALUES
  ('{"vc": "ab"}'::jsonb), ('{"nm": "n"}'), ('{"qc": "q"}'), ('{"e": "ok"}'), ('{"p": {"a": 1, "b": "x"}}'), ('{"p": "(1,x)"}'), ('{"d": "code"}'),
  ('{"rc": "pg_class"}'), ('{"r": "[1,4)"}'), ('{"ta": ["a", "b c"]}'), ('{"ba": "\\x00FF"}'), ('{"ip": "10.0.0.1/32"}'), ('{"vb": "101"}'),
  ('{"dt": "infinity"}'), ('{"vc": "ab "}'), ('{"e": "sad"}'), ('{"p": {"a": 1, "b": "y"}}')) AS v(key);
-- other operator classes and collations of the index: their equality, or no match
CREATE TABLE keys_classes (pattern text, posix text, v text, fence bigint);
CREATE UNIQUE INDEX ON keys_classes (pattern text_pattern_ops);
CREATE UNIQUE INDEX ON keys_classes (posix COLLATE "POSIX");
INSERT INTO keys_classes VALUES ('a', 'b');
SELECT pg_temp.write('keys_classes', '{"pattern": "a"}'), left(pg_temp.write('keys_classes', '{"posix": "b"}'), 5);

-- an operator of the caller's with the same name is not used
CREATE SCHEMA keys_hostile;
CREATE FUNCTION keys_hostile.always(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION keys_hostile.always(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR keys_hostile.= (LEFTARG = int, RIGHTARG = int, FUNCTION = keys_hostile.always);
CREATE OPERATOR keys_hostile.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = keys_hostile.always);
CREATE OPERATOR keys_hostile.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = keys_hostile.always);
CREATE TABLE keys_plain (id int PRIMARY KEY, v text, fence bigint);
INSERT INTO keys_plain VALUES (1, 'one', 9), (2, 'two', 9);
SET search_path = keys_hostile, pg_catalog, public;
SELECT pg_temp.write('keys_plain', '{"id": 2}', token => 9);
SELECT left(pg_temp.write('keys_plain', '{"id": 1}', token => 8), 5);
RESET search_path;
SELECT * FROM keys_plain ORDER BY id;

DROP TABLE keys_composite, keys_many, keys_invalid, keys_types, keys_more, keys_classes, keys_plain;
DROP TYPE keys_mood, keys_pair, keys_code;
SET client_min_messages = warning;
DROP SCHEMA keys_hostile CASCADE;

-- a key is compared as it is, not made to fit its column first
CREATE TABLE keys_rounded (id numeric(5,1) PRIMARY KEY, at timestamp(0) UNIQUE, v text, fence bigint);
INSERT INTO keys_rounded VALUES (1.3, '2026-01-02 03:04:05', 'old');
SELECT gatepost.token_draw() AS rounded \gset
SELECT gatepost.fenced_update('keys_rounded', '{"id": 1.25}', '{"v": "new"}', :rounded) AS by_number,
       gatepost.fenced_update('keys_rounded', '{"at": "2026-01-02 03:04:05.2"}', '{"v": "new"}', :rounded) AS by_time;
TABLE keys_rounded;
SELECT gatepost.fenced_update('keys_rounded', '{"id": 1.3}', '{"id": 1.25}', :rounded) AS stored_to_fit;
SELECT id FROM keys_rounded;
DROP TABLE keys_rounded;
