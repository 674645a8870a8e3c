-- fenced_update within fenced_update: triggers, functions, loops over many tables; errors on the way.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE nested_order (id int PRIMARY KEY, total int, v text, fence bigint);
CREATE TABLE nested_line (order_id int, line int, amount int, fence bigint, PRIMARY KEY (order_id, line));
INSERT INTO nested_order VALUES (1, 3, 'a');
INSERT INTO nested_line VALUES (1, 1, 1), (1, 2, 2);

-- a trigger writes another table under the same token, which it is handed in the row
CREATE FUNCTION nested_spread() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gatepost.fenced_update('nested_line', jsonb_build_object('order_id', NEW.id, 'line', line), '{"amount": 10}', NEW.fence)
  FROM nested_line WHERE order_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER spread AFTER UPDATE ON nested_order FOR EACH ROW EXECUTE FUNCTION nested_spread();
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "b"}', 7);
SELECT v, order_id, line, amount, l.fence FROM nested_order, nested_line AS l ORDER BY line;
-- one of them is ahead: the whole of it is refused
UPDATE nested_line SET fence = 9 WHERE line = 2;
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''nested_order'', ''{"id": 1}'', ''{"v": "c"}'', 8)');
SELECT v, o.fence AS order_fence, line, amount, l.fence FROM nested_order AS o, nested_line AS l ORDER BY line;
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "d"}', 9);
SELECT v, o.fence AS order_fence, line, amount, l.fence FROM nested_order AS o, nested_line AS l ORDER BY line;
DROP TRIGGER spread ON nested_order;

-- a trigger that writes its own row again, and one that takes the row out from under the update
CREATE FUNCTION nested_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.total < 5 THEN
    PERFORM gatepost.fenced_update('nested_order', jsonb_build_object('id', NEW.id), jsonb_build_object('total', NEW.total + 1), NEW.fence);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER again AFTER UPDATE ON nested_order FOR EACH ROW EXECUTE FUNCTION nested_again();
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"total": 1}', 9);
SELECT * FROM nested_order;
DROP TRIGGER again ON nested_order;
CREATE FUNCTION nested_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nested_order SET fence = 11 WHERE id = OLD.id;
  RETURN NEW;
END $$;
CREATE TRIGGER before BEFORE UPDATE ON nested_order FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION nested_before();
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''nested_order'', ''{"id": 1}'', ''{"v": "e"}'', 10)'), 5);
DROP TRIGGER before ON nested_order;
SELECT * FROM nested_order;

-- more statements within one update than a session keeps prepared; then the outer one again
DO $$
BEGIN
  FOR n IN 1 .. 150 LOOP
    EXECUTE format('CREATE TABLE nested_%s (id int PRIMARY KEY, v text, fence bigint)', n);
    EXECUTE format('INSERT INTO nested_%s VALUES (1)', n);
  END LOOP;
END $$;
CREATE FUNCTION nested_many() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  FOR n IN 1 .. 150 LOOP
    IF NOT gatepost.fenced_update(('nested_' || n)::regclass, '{"id": 1}', '{"v": "x"}', NEW.fence) THEN
      RAISE EXCEPTION 'table % has no row', n;
    END IF;
  END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER many BEFORE UPDATE ON nested_order FOR EACH ROW EXECUTE FUNCTION nested_many();
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "f"}', 12);
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "g"}', 13);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''nested_order'', ''{"id": 1}'', ''{"v": "h"}'', 12)'), 5);
DROP TRIGGER many ON nested_order;
SELECT * FROM nested_order;
SELECT count(*) FROM pg_class WHERE relname ~ '^nested_\d+$';
SELECT gatepost.fenced_update('nested_150', '{"id": 1}', '{"v": "y"}', 14), gatepost.fenced_update('nested_1', '{"id": 1}', '{"v": "y"}', 13);
SELECT v, fence FROM nested_150 UNION ALL SELECT v, fence FROM nested_1 UNION ALL SELECT v, fence FROM nested_33;

-- in queries, CTEs, procedures, REPEATABLE READ
SELECT count(*) FILTER (WHERE done) AS done, count(*) FROM (SELECT gatepost.fenced_update('nested_line', jsonb_build_object('order_id', 1, 'line', line), '{"amount": 20}', 15) AS done
  FROM generate_series(1, 3) AS line) AS d;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "i"}', 16);
SAVEPOINT one;
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "j"}', 15);
ROLLBACK TO one;
SELECT gatepost.fenced_update('nested_order', '{"id": 1}', '{"v": "k"}', 17);
COMMIT;
SELECT * FROM nested_order;

DO $$ BEGIN FOR n IN 1 .. 150 LOOP EXECUTE format('DROP TABLE nested_%s', n); END LOOP; END $$;
DROP TABLE nested_order, nested_line;
DROP FUNCTION nested_spread, nested_again, nested_before, nested_many;
