-- Names of tables, columns, leases and roles of every sort come back out of the triggers as they went in.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE TEMP TABLE hostile (n serial, name text);
INSERT INTO hostile (name) VALUES ('a"b'), ('a''b'), ('a\b'), ('a\\000b'), ('{'), ('}}{{'), ('größe €'), ('x; DROP TABLE t'), ('"'), (E'line\nfeed\ttab'), ('%s$1'),
  (' '), ('select'), ('UPPER'), ('\'), (E'\\''"{}'), (repeat('é', 31)), (repeat('x', 63));
-- A table, column, schema, role and lease of that name: what the protection refuses, and what it lets through.
CREATE FUNCTION pg_temp.protected(name text, quoting text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  target constant text := format('%I.%I', name, name);
  role constant text := 'regress_' || left(name, 20);
  lease_name constant text := repeat(name, 3) || '!';
  template constant text := replace(replace(lease_name, '{', '{{'), '}', '}}');
  own constant bigint := gatepost.lease_acquire(lease_name, '1 h');
  of_row constant bigint := gatepost.lease_acquire(lease_name || name, '1 h');
  stamped boolean;
BEGIN
  PERFORM set_config('standard_conforming_strings', quoting, true), set_config('escape_string_warning', 'off', true);
  EXECUTE format('CREATE ROLE %I', role);
  EXECUTE format('CREATE SCHEMA %I', name);
  EXECUTE format('CREATE TABLE %s (id int, %I text, fence bigint)', target, name);
  PERFORM gatepost.fence_protect(target::regclass, template);
  RETURN NEXT pg_temp.try(format('INSERT INTO %s VALUES (1)', target));
  PERFORM gatepost.fence_use(lease_name, own);
  RETURN NEXT pg_temp.try(format('INSERT INTO %s VALUES (1)', target));
  -- A brace begins and ends a column there.
  IF name !~ '[{}]' THEN
    PERFORM gatepost.fence_protect(target::regclass, template || '{' || name || '}');
    RETURN NEXT pg_temp.try(format('INSERT INTO %s VALUES (1, %L)', target, name));
    PERFORM gatepost.fence_use(lease_name || name, of_row);
    RETURN NEXT pg_temp.try(format('INSERT INTO %s VALUES (1, %L)', target, name));
  END IF;
  EXECUTE format('ALTER TABLE %s DROP %I, ADD %I bigint', target, name, name);
  PERFORM gatepost.fence_protect(target::regclass, template, name, exempt => ARRAY[quote_ident(role)::regrole]);
  RETURN NEXT pg_temp.try(format('UPDATE %s SET id = 2', target));
  EXECUTE format('SELECT bool_and(%I = $1) FROM %s', name, target) INTO stamped USING own;
  RETURN NEXT stamped;
  RETURN QUERY SELECT format('%s %s %s %s', t.lease = lease_name, t.fence_column = name, t.exempt = ARRAY[role], guarded)
    FROM gatepost.fenced_tables t WHERE relation = target::regclass;
  EXECUTE format('ALTER TABLE %s RENAME TO renamed', target);
  PERFORM gatepost.fence_unprotect(format('%I.renamed', name)::regclass);
END $$;
CREATE FUNCTION pg_temp.all_protected(quoting text) RETURNS TABLE (n int, answers text) LANGUAGE plpgsql AS $$
DECLARE
  h hostile;
  answers text[];
BEGIN
  FOR h IN SELECT * FROM hostile ORDER BY hostile.n LOOP
    BEGIN
      answers := ARRAY(SELECT replace(p, h.name, '@') FROM pg_temp.protected(h.name, quoting) p);
      RAISE EXCEPTION USING ERRCODE = 'ZZ000';
    EXCEPTION
      WHEN SQLSTATE 'ZZ000' THEN all_protected.answers := array_to_string(answers, ' | ');
    END;
    all_protected.n := h.n;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM pg_temp.all_protected('on');
SELECT count(*) FROM (SELECT * FROM pg_temp.all_protected('on') EXCEPT SELECT * FROM pg_temp.all_protected('off')) differing;
