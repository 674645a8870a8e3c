-- The table of writes x kinds of protection in docs/protect-a-table.md: tables of one shape for each kind, the writes,
-- and what becomes of them. Included after common.sql.
\set ECHO none
SET client_min_messages = warning;

-- A kind's tables are in a schema of its name. Each row is of lease 'order:1'. What is not protected: customer.
CREATE FUNCTION pg_temp.make_tables(kind text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  columns constant text := '(id int, n int, place text, v text, fence bigint, customer int%s, PRIMARY KEY (id, n, place))';
  tree constant boolean := kind = 'tree';
  name text;
BEGIN
  EXECUTE format('CREATE SCHEMA %I', kind);
  PERFORM set_config('search_path', format('%I, pg_catalog', kind), false);
  CREATE TABLE customer (id int PRIMARY KEY);
  INSERT INTO customer VALUES (1), (2);
  FOREACH name IN ARRAY ARRAY['orders', 'cascaded', 'nulled', 'parted', 'base'] LOOP
    EXECUTE format('CREATE TABLE %I ' || columns, name, CASE name
      WHEN 'cascaded' THEN ' REFERENCES customer ON DELETE CASCADE'
      WHEN 'nulled' THEN ' REFERENCES customer ON DELETE SET NULL' ELSE '' END)
      || CASE WHEN name = 'parted' OR tree AND name <> 'base' THEN ' PARTITION BY LIST (place)' ELSE '' END;
    IF name = 'parted' OR tree AND name <> 'base' THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (''north'')', name || '_north', name);
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (''south'')', name || '_south', name);
    END IF;
    EXECUTE format('INSERT INTO %I VALUES (1, 1, ''north'', ''old'', $1, $2)', name)
      USING pg_temp.token('order:1'), CASE name WHEN 'nulled' THEN 2 ELSE 1 END;
  END LOOP;
  CREATE TABLE west (LIKE parted INCLUDING ALL);
  CREATE TABLE child (PRIMARY KEY (id, n, place)) INHERITS (base);
  CREATE TABLE adopted (LIKE base INCLUDING ALL);
  INSERT INTO west VALUES (1, 1, 'west', 'old', pg_temp.token('order:1'));
  INSERT INTO child SELECT * FROM ONLY base;
  INSERT INTO adopted SELECT * FROM ONLY base;
  CREATE VIEW shown AS SELECT * FROM orders;
  FOREACH name IN ARRAY CASE kind WHEN 'lease' THEN ARRAY['orders', 'cascaded', 'nulled']
      ELSE ARRAY['orders', 'cascaded', 'nulled', 'parted', 'base'] END LOOP
    PERFORM gatepost.fence_protect(name::regclass, fence_column => CASE WHEN kind = 'column' THEN 'fence' END,
      lease => CASE kind WHEN 'column' THEN NULL WHEN 'template' THEN 'order:{id}' ELSE 'order:1' END);
  END LOOP;
END $$;

CREATE FUNCTION pg_temp.token(lease text) RETURNS bigint LANGUAGE sql AS
  $$ SELECT token FROM gatepost.leases WHERE name = lease $$;

-- Older than the marks, and current all the same: of another name.
SELECT gatepost.lease_acquire('older', '1 h') < gatepost.lease_acquire('order:1', '1 h') AS leases \gset

CREATE TEMP TABLE write (number serial, name text, linked boolean, before text, statements text[]);
INSERT INTO write (name, linked, before, statements) VALUES
  ('INSERT', false, NULL, ARRAY['INSERT INTO orders VALUES (1, 2, ''north'', ''new'')']),
  ('UPDATE', false, NULL, ARRAY['UPDATE orders SET v = ''new''', 'UPDATE orders SET v = ''new'', fence = 9007199254740991']),
  ('DELETE', false, NULL, ARRAY['DELETE FROM orders']),
  ('MERGE', false, NULL, ARRAY[
    'MERGE INTO orders o USING (VALUES (1), (2)) s(n) ON o.n = s.n WHEN MATCHED THEN UPDATE SET v = ''new''
      WHEN NOT MATCHED THEN INSERT (id, n, place, v) VALUES (1, s.n, ''north'', ''new'')',
    'MERGE INTO orders o USING (VALUES (1)) s(n) ON o.n = s.n WHEN MATCHED THEN UPDATE SET v = ''new''']),
  ('MERGE that deletes', false, NULL, ARRAY['MERGE INTO orders o USING (VALUES (1)) s(n) ON o.n = s.n WHEN MATCHED THEN DELETE']),
  ('INSERT .. ON CONFLICT DO NOTHING', false, NULL, ARRAY[
    'INSERT INTO orders VALUES (1, 1, ''north'', ''new''), (1, 2, ''north'', ''new'') ON CONFLICT DO NOTHING']),
  ('INSERT .. ON CONFLICT DO UPDATE', false, NULL, ARRAY[
    'INSERT INTO orders VALUES (1, 1, ''north'', ''new'') ON CONFLICT (id, n, place) DO UPDATE SET v = excluded.v']),
  ('COPY', false, NULL, ARRAY['COPY orders (id, n, place, v) FROM PROGRAM ''echo 1,2,north,new'' (FORMAT csv)']),
  ('TRUNCATE', false, NULL, ARRAY['TRUNCATE orders', 'TRUNCATE customer CASCADE']),
  ('UPDATE of a view', false, NULL, ARRAY['UPDATE shown SET v = ''new''']),
  ('ON DELETE CASCADE', false, NULL, ARRAY['DELETE FROM customer WHERE id = 1']),
  ('ON DELETE SET NULL', false, NULL, ARRAY['DELETE FROM customer WHERE id = 2']),
  ('session_replication_role = replica', false, 'SET LOCAL session_replication_role = replica', ARRAY['UPDATE orders SET v = ''new''']),
  ('TRUNCATE of a parent', true, NULL, ARRAY['TRUNCATE parted', 'TRUNCATE base']),
  ('TRUNCATE of a partition or child', true, NULL, ARRAY['TRUNCATE parted_north', 'TRUNCATE child', 'TRUNCATE ONLY base']),
  ('row moved between partitions', true, NULL, ARRAY['UPDATE parted SET place = ''south''']),
  ('INSERT into a partition', true, NULL, ARRAY['INSERT INTO parted_south VALUES (1, 2, ''south'', ''new'')']),
  ('UPDATE of a partition', true, NULL, ARRAY['UPDATE parted_north SET v = ''new''']),
  ('UPDATE of a partition attached later', true, 'ALTER TABLE parted ATTACH PARTITION west FOR VALUES IN (''west'')', ARRAY[
    'UPDATE west SET v = ''new''', 'UPDATE parted SET v = ''new'' WHERE place = ''west''',
    'UPDATE parted SET place = ''south'' WHERE place = ''west''']),
  ('INSERT into a partition made later', true, 'CREATE TABLE east PARTITION OF parted FOR VALUES IN (''east'')', ARRAY[
    'INSERT INTO east VALUES (1, 2, ''east'', ''new'')', 'INSERT INTO parted VALUES (1, 2, ''east'', ''new'')']),
  ('UPDATE of a child through its parent', true, NULL, ARRAY['UPDATE base SET v = ''new''']),
  ('INSERT into a child', true, NULL, ARRAY['INSERT INTO child VALUES (1, 2, ''north'', ''new'')']),
  ('UPDATE of a child', true, NULL, ARRAY['UPDATE child SET v = ''new''']),
  ('UPDATE of a child that inherits later', true, 'ALTER TABLE adopted INHERIT base', ARRAY[
    'UPDATE adopted SET v = ''new''', 'UPDATE base SET v = ''new''']),
  ('INSERT into a child made later', true, 'CREATE TABLE born () INHERITS (base)', ARRAY[
    'INSERT INTO born VALUES (1, 2, ''north'', ''new'')']);

-- All rows of the protected tables, with the table that each is in.
CREATE FUNCTION pg_temp.all_rows() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['orders', 'cascaded', 'nulled', 'parted', 'west', 'base', 'adopted'] LOOP
    RETURN QUERY EXECUTE format('SELECT tableoid::regclass || t::text FROM %I t', name);
  END LOOP;
END $$;

-- What becomes of one statement under the token of a lease, NULL: under none. Nothing of it stays.
CREATE FUNCTION pg_temp.outcome(before text, statement text, lease text, stamps boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  rows_before text[];
  written text[];
BEGIN
  IF before IS NOT NULL THEN
    EXECUTE before;
  END IF;
  rows_before := ARRAY(SELECT pg_temp.all_rows());
  IF lease IS NOT NULL THEN
    PERFORM gatepost.fence_use(lease, pg_temp.token(lease));
  END IF;
  EXECUTE statement;
  written := ARRAY(SELECT pg_temp.all_rows() EXCEPT SELECT unnest(rows_before));
  RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = CASE
    WHEN written = '{}' AND (SELECT count(*) FROM pg_temp.all_rows()) = cardinality(rows_before) THEN 'nothing'
    WHEN stamps AND written <> '{}' AND NOT EXISTS
      (SELECT FROM unnest(written) w WHERE w NOT LIKE '%,' || pg_temp.token(lease) || ',%') THEN 'stamped'
    ELSE 'passes' END;
EXCEPTION
  WHEN SQLSTATE 'ZZ000' THEN RETURN SQLERRM;
  WHEN SQLSTATE 'LG001' OR SQLSTATE 'LG003' THEN RETURN 'refused';
  WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- Of all statements of the write, which should fare alike.
CREATE FUNCTION pg_temp.outcome(w write, lease text, stamps boolean) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(DISTINCT pg_temp.outcome((w).before, statement, lease, stamps), ' or ') FROM unnest((w).statements) statement
$$;

CREATE FUNCTION pg_temp.cells(which text, OUT write text, OUT kind text, OUT without text, OUT used text, OUT stale text)
RETURNS SETOF record LANGUAGE sql AS $$
  SELECT w.name, which, pg_temp.outcome(w, NULL, false), pg_temp.outcome(w, 'order:1', which = 'column'),
    CASE WHEN which = 'column' THEN pg_temp.outcome(w, 'older', true) ELSE '-' END
  FROM write w WHERE which <> 'lease' OR NOT w.linked ORDER BY number
$$;
RESET client_min_messages;
\set ECHO all
