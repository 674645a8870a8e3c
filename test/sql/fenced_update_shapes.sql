-- fenced_update remembers the statements it has built: what they depended on changes between two calls of one shape.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE FUNCTION pg_temp.write(target regclass, key jsonb, changes jsonb, token bigint DEFAULT 7) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.ask(format('SELECT gatepost.fenced_update(%L, %L, %L, %s)', target, key, changes, token))
$$;
CREATE SCHEMA shapes_one;
CREATE TABLE shapes_one.rows (id int PRIMARY KEY, v text, n int, fence bigint);
INSERT INTO shapes_one.rows VALUES (1), (2);
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"v": "a", "n": 1}'), pg_temp.write('shapes_one.rows', '{"id": 2}', '{"v": "b", "n": 2}');

-- the same columns with and without null, the same names in key and changes
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"v": null, "n": 3}'), pg_temp.write('shapes_one.rows', '{"id": 2}', '{"v": "c", "n": null}');
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"id": 3}'), pg_temp.write('shapes_one.rows', '{"id": 3}', '{"id": 1}');
SELECT pg_temp.write('shapes_one.rows', '{"id": null}', '{"v": "x", "n": 1}'), pg_temp.write('shapes_one.rows', '{}', '{"v": "x", "n": 1}');
SELECT * FROM shapes_one.rows ORDER BY id;

-- another fence column
ALTER TABLE shapes_one.rows ADD second bigint;
SELECT gatepost.fenced_update('shapes_one.rows', '{"id": 1}', '{"v": "d", "n": 4}', 9, fence_column => 'second');
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"v": "e", "n": 5}', 8);
SELECT * FROM shapes_one.rows WHERE id = 1;

-- a column renamed, dropped, of another type
ALTER TABLE shapes_one.rows RENAME v TO w;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"v": "f", "n": 6}', 8), pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "f", "n": 6}', 8);
ALTER TABLE shapes_one.rows ALTER n TYPE text;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "g", "n": "seven"}', 8);
ALTER TABLE shapes_one.rows DROP n;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "h", "n": "eight"}', 8);
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "i"}', 8);

-- the schema renamed, and another table of that name where it was
ALTER SCHEMA shapes_one RENAME TO shapes_two;
CREATE SCHEMA shapes_one;
CREATE TABLE shapes_one.rows (id int PRIMARY KEY, w text, fence bigint);
INSERT INTO shapes_one.rows VALUES (1, 'another table');
SELECT pg_temp.write('shapes_two.rows', '{"id": 1}', '{"w": "j"}', 9), pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "k"}', 10);
SELECT 'one', w, fence FROM shapes_one.rows UNION ALL SELECT 'two', w, fence FROM shapes_two.rows WHERE id = 1;

-- the unique index gone, within a transaction that is rolled back too
BEGIN;
ALTER TABLE shapes_one.rows DROP CONSTRAINT rows_pkey;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "l"}', 10);
ROLLBACK;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "m"}', 10);
ALTER TABLE shapes_one.rows DROP CONSTRAINT rows_pkey;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "n"}', 10);
ALTER TABLE shapes_one.rows ADD PRIMARY KEY (id);
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "o"}', 10);

-- a trigger that lowers the mark, from one call to the next
CREATE FUNCTION shapes_lower() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fence := 1; RETURN NEW; END $$;
CREATE TRIGGER lower BEFORE UPDATE ON shapes_one.rows FOR EACH ROW EXECUTE FUNCTION shapes_lower();
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "p"}', 10);
ALTER TABLE shapes_one.rows DISABLE TRIGGER lower;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "q"}', 10);
ALTER TABLE shapes_one.rows ENABLE ALWAYS TRIGGER lower;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "r"}', 10);
DROP TRIGGER lower ON shapes_one.rows;
-- a rule that does something else
CREATE RULE nothing AS ON UPDATE TO shapes_one.rows DO INSTEAD NOTHING;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "s"}', 10);
DROP RULE nothing ON shapes_one.rows;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"w": "t"}', 10);
SELECT * FROM shapes_one.rows;

-- a composite type that the statement names is renamed
CREATE TYPE shapes_pair AS (a int, b int);
ALTER TABLE shapes_one.rows ADD pair shapes_pair;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"pair": {"a": 1, "b": 2}}', 10);
ALTER TYPE shapes_pair RENAME TO shapes_couple;
DISCARD PLANS;
SELECT pg_temp.write('shapes_one.rows', '{"id": 1}', '{"pair": {"a": 3, "b": 4}}', 10);
SELECT pair FROM shapes_one.rows;

-- the operator of the key's index moves to another schema
CREATE TYPE shapes_color AS ENUM ('red', 'green');
CREATE FUNCTION shapes_same(shapes_color, shapes_color) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_eq';
CREATE FUNCTION shapes_less(shapes_color, shapes_color) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_lt';
CREATE FUNCTION shapes_compare(shapes_color, shapes_color) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'enum_cmp';
CREATE OPERATOR === (LEFTARG = shapes_color, RIGHTARG = shapes_color, FUNCTION = shapes_same, MERGES);
CREATE OPERATOR <<< (LEFTARG = shapes_color, RIGHTARG = shapes_color, FUNCTION = shapes_less);
CREATE OPERATOR CLASS shapes_colors FOR TYPE shapes_color USING btree AS
  OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 shapes_compare(shapes_color, shapes_color);
CREATE TABLE shapes_paints (color shapes_color, v text, fence bigint);
CREATE UNIQUE INDEX ON shapes_paints (color shapes_colors);
INSERT INTO shapes_paints VALUES ('red'), ('green');
SELECT pg_temp.write('shapes_paints', '{"color": "red"}', '{"v": "a"}');
ALTER OPERATOR === (shapes_color, shapes_color) SET SCHEMA shapes_two;
SELECT pg_temp.write('shapes_paints', '{"color": "red"}', '{"v": "b"}');
SELECT color, v, fence FROM shapes_paints ORDER BY color;

-- row security is switched on, and asked of each role anew
CREATE ROLE regress_gatepost_painter;
GRANT USAGE ON SCHEMA gatepost, shapes_two TO regress_gatepost_painter;
GRANT EXECUTE ON FUNCTION gatepost.fenced_update TO regress_gatepost_painter;
GRANT SELECT, UPDATE ON shapes_paints TO regress_gatepost_painter;
ALTER TABLE shapes_paints ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON shapes_paints FOR SELECT USING (true);
CREATE POLICY own ON shapes_paints FOR UPDATE USING (color = 'green');
SELECT pg_temp.write('shapes_paints', '{"color": "red"}', '{"v": "c"}', 6);
SET ROLE regress_gatepost_painter;
-- what may not be changed is no row, nor is it told whether its mark is newer
SELECT pg_temp.write('shapes_paints', '{"color": "red"}', '{"v": "d"}', 6), pg_temp.write('shapes_paints', '{"color": "green"}', '{"v": "e"}', 6);
RESET ROLE;
SELECT pg_temp.write('shapes_paints', '{"color": "red"}', '{"v": "f"}', 6);
SELECT color, v, fence FROM shapes_paints ORDER BY color;

-- more shapes than are remembered
DO $$ BEGIN FOR n IN 1 .. 200 LOOP EXECUTE format('ALTER TABLE shapes_two.rows ADD c%s int', n); END LOOP; END $$;
SELECT count(*) FILTER (WHERE pg_temp.write('shapes_two.rows', '{"id": 1}', jsonb_build_object('c' || n, n), 9) = 'true') FROM generate_series(1, 200) AS n;
SELECT c1, c64, c65, c137, c200 FROM shapes_two.rows WHERE id = 1;

-- what a call itself runs gives the table a trigger that lowers the mark, or a rule
CREATE FUNCTION shapes_check(v text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF v LIKE 'CREATE %' THEN EXECUTE v; END IF;
  RETURN true;
END $$;
CREATE DOMAIN shapes_text AS text CHECK (shapes_check(value));
CREATE TABLE shapes_two.calls (id int PRIMARY KEY, v shapes_text, fence bigint);
CREATE TABLE shapes_two.other (v text);
INSERT INTO shapes_two.calls VALUES (1);
INSERT INTO shapes_two.other VALUES ('other');
SELECT pg_temp.write('shapes_two.calls', '{"id": 1}', '{"v": "a"}');
SELECT pg_temp.write('shapes_two.calls', '{"id": 1}', jsonb_build_object('v', 'CREATE TRIGGER lower BEFORE UPDATE ON shapes_two.calls FOR EACH ROW EXECUTE FUNCTION shapes_lower()'));
SELECT pg_temp.write('shapes_two.calls', '{"id": 1}', jsonb_build_object('v', 'CREATE RULE elsewhere AS ON UPDATE TO shapes_two.calls DO INSTEAD UPDATE shapes_two.other SET v = NEW.v'));
SELECT v, fence FROM shapes_two.calls;
SELECT v FROM shapes_two.other;

DROP TABLE shapes_paints;
DROP SCHEMA shapes_one, shapes_two CASCADE;
DROP DOMAIN shapes_text;
DROP FUNCTION shapes_check;
DROP TYPE shapes_couple;
DROP FUNCTION shapes_same, shapes_less, shapes_compare CASCADE;
DROP TYPE shapes_color;
DROP FUNCTION shapes_lower;
DROP OWNED BY regress_gatepost_painter;
DROP ROLE regress_gatepost_painter;
