-- fenced_update stores what an UPDATE with the same values would store, in columns of any type.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
SET intervalstyle = postgres;
SET datestyle = iso;
SET TimeZone = 'UTC';

CREATE TYPE types_mood AS ENUM ('sad', 'ok', 'very "happy"');
CREATE TYPE types_pair AS (a int, "B b" text);
CREATE DOMAIN types_positive AS int CHECK (VALUE > 0);
CREATE DOMAIN types_present AS text NOT NULL;
CREATE TABLE types_rows (
  id int PRIMARY KEY,
  fence bigint,
  present types_present DEFAULT 'always here',
  required int NOT NULL DEFAULT 1,
  b boolean, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, num numeric, num42 numeric(4,2),
  t text, vc varchar(3), ch char(3), nm name, qc "char", bits bit(3), vbits varbit(3), ba bytea,
  j json, jb jsonb, u uuid, ip inet, net cidr, mac macaddr,
  d date, tm time, ttz timetz, ts timestamp, tstz timestamptz, ts0 timestamptz(0), iv interval,
  mood types_mood, pos types_positive, pair types_pair,
  ia int[], ia2 int[], ta text[], ma types_mood[], pa types_pair[], ja jsonb[],
  r int4range, tr tstzrange, mr int4multirange, pt point, bx box, ts_vec tsvector, ts_q tsquery, x xml, m money,
  ro regrole, rc regclass, lsn pg_lsn, o oid);
INSERT INTO types_rows (id) VALUES (1);

-- sets one column and shows what is stored, or the SQLSTATE
CREATE FUNCTION pg_temp.put(col text, val jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text := pg_temp.ask(format('SELECT gatepost.fenced_update(''types_rows'', ''{"id": 1}'', %L, 7)',
                                    jsonb_build_object(col, val)));
  stored text;
BEGIN
  IF answer <> 'true' THEN
    RETURN left(answer, 5);
  END IF;
  EXECUTE format('SELECT %I::text FROM types_rows WHERE id = 1', col) INTO stored;
  RETURN coalesce(stored, '(null)');
END $$;

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

SELECT col, val, pg_temp.put(col, val) FROM (VALUES
  ('b', 'true'::jsonb), ('b', '"f"'), ('b', 'null'), ('b', '"maybe"'),
  ('i2', '-32768'), ('i2', '32768'), ('i4', '"42"'), ('i4', '1.5'), ('i4', '1e3'),
  ('i8', '9223372036854775807'), ('i8', '9007199254740993'), ('i8', '9223372036854775808'),
  ('f4', '1.1'), ('f4', '"NaN"'), ('f8', '0.1'), ('f8', '1e20'), ('f8', '"-Infinity"'), ('f4', '1e40'),
  ('num', '123456789012345678901234567890.000000000000000000010'), ('num', '"NaN"'), ('num42', '12.345'), ('num42', '123'),
  ('t', '"it''s \"quoted\" \\ and\nlong $1 %s"'), ('t', '""'), ('t', '5'), ('t', 'true'), ('t', '{"a": [1, null]}'), ('t', 'null'),
  ('vc', '"abc"'), ('vc', '"abcd"'), ('vc', '"abc "'), ('ch', '"a"'), ('ch', '"abcd"'), ('nm', '"n"'), ('qc', '"q"'),
  ('bits', '"101"'), ('bits', '"1011"'), ('bits', '"1"'), ('vbits', '"1011"'), ('ba', '"\\xdeadbeef"'), ('ba', '"\\x0"'),
  ('j', '{"b": 1, "a": [null, "x"]}'), ('j', '"text"'), ('j', 'null'), ('jb', '{"k": {"n": 1.50}}'), ('jb', '[1, 2]'), ('jb', '"text"'), ('jb', '5'), ('jb', 'true'),
  ('u', '"6f1c3d3e-0000-4000-8000-000000000001"'), ('u', '"6f1c"'), ('ip', '"10.0.0.1/8"'), ('net', '"10.0.0.0/8"'), ('net', '"10.0.0.1/8"'), ('mac', '"08:00:2b:01:02:03"'),
  ('d', '"2026-02-28"'), ('d', '"infinity"'), ('d', '"2026-02-30"'), ('tm', '"12:34:56.789"'), ('ttz', '"12:34:56+02"'),
  ('ts', '"2026-01-02 03:04:05.678901"'), ('tstz', '"2026-01-02T03:04:05+09:00"'), ('ts0', '"2026-01-02 03:04:05.678+00"'), ('iv', '"1 mon 2 days 03:00"'),
  ('mood', '"very \"happy\""'), ('mood', '"angry"'), ('pos', '3'), ('pos', '-3'), ('present', '"still here"'), ('present', 'null'), ('required', 'null'),
  ('pair', '{"a": 1, "B b": "x,y"}'), ('pair', '{"a": 2}'), ('pair', '"(3,z)"'), ('pair', 'null'),
  ('ia', '[1, null, 3]'), ('ia', '[]'), ('ia', '"{4,5}"'), ('ia', '[1, "x"]'), ('ia', '5'), ('ia2', '[[1, 2], [3, 4]]'), ('ia2', '[[1, 2], [3]]'),
  ('ta', '["a", "b,c", "d\"e", null, ""]'), ('ma', '["sad", "ok"]'), ('pa', '[{"a": 1, "B b": "p"}, null]'), ('ja', '[{"a": 1}, "s", null]'),
  ('r', '"[1,5)"'), ('tr', '"[2026-01-01,2026-02-01)"'), ('mr', '"{[1,3),[5,7)}"'), ('pt', '"(1,2)"'), ('bx', '"(2,2),(1,1)"'),
  ('ts_vec', '"''cat'':3 ''fat'':2"'), ('ts_q', '"''fat'' & ''cat''"'), ('x', '"<a b=\"c\"/>"'),
  ('rc', '"pg_class"'), ('lsn', '"0/16B3748"'), ('o', '4294967295')) AS v(col, val);

-- a column that must not be NULL and is not named is no obstacle
SELECT present, required, fence FROM types_rows;
SELECT gatepost.fenced_update('types_rows', '{"id": 1}', '{"t": "last"}', 8);

-- all at once
SELECT gatepost.fenced_update('types_rows', '{"id": 1}',
  '{"b": false, "i8": 1, "num": 0.10, "t": "x", "jb": {}, "ia": [7], "mood": "sad", "pair": {"a": 9, "B b": null}, "tstz": "epoch", "ba": "\\x00"}', 9);
SELECT b, i8, num, t, jb, ia, mood, pair, tstz, ba, present, fence FROM types_rows;

-- a domain over a domain, an array of a domain, a composite within a composite, a table's row type
CREATE DOMAIN types_small AS types_positive CHECK (VALUE < 10);
CREATE TYPE types_outer AS (p types_pair, l types_small[]);
CREATE TABLE types_nested (id int PRIMARY KEY, fence bigint, s types_small, o types_outer, r types_rows);
INSERT INTO types_nested VALUES (1);
SELECT gatepost.fenced_update('types_nested', '{"id": 1}', '{"s": 9, "o": {"p": {"a": 1, "B b": "x"}, "l": [1, 2]}}', 7);
SELECT * FROM types_nested;
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''types_nested'', ''{"id": 1}'', ''{"s": 10}'', 7)');
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''types_nested'', ''{"id": 1}'', ''{"o": {"l": [1, 20]}}'', 7)');

-- types whose operators live outside pg_catalog, with nothing of theirs in the search_path
CREATE SCHEMA types_elsewhere;
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS citext SCHEMA types_elsewhere;
CREATE EXTENSION IF NOT EXISTS hstore SCHEMA types_elsewhere;
RESET client_min_messages;
CREATE TABLE types_extension (k types_elsewhere.citext PRIMARY KEY, h types_elsewhere.hstore, fence bigint);
INSERT INTO types_extension VALUES ('Key', NULL, NULL);
SELECT gatepost.fenced_update('types_extension', '{"k": "kEY"}', '{"h": "\"a\"=>\"1\""}', 7);
SELECT gatepost.fenced_update('types_extension', '{"k": "other"}', '{"h": ""}', 7);
SELECT * FROM types_extension;

DROP TABLE types_rows CASCADE;
DROP TABLE types_nested, types_extension;
DROP TYPE types_outer, types_pair, types_mood;
DROP DOMAIN types_small, types_positive, types_present;
SET client_min_messages = warning;
DROP SCHEMA types_elsewhere CASCADE;
