-- Exempt roles write without a token: by who the statement's outer user is, not by who a function or cascade runs as.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE ROLE regress_gatepost_exempt;
CREATE ROLE regress_gatepost_member IN ROLE regress_gatepost_exempt;
CREATE ROLE regress_gatepost_noinherit NOINHERIT IN ROLE regress_gatepost_exempt;
CREATE ROLE regress_gatepost_writer;
CREATE TABLE customer (id int PRIMARY KEY);
CREATE TABLE t (id int, v int, fence bigint, customer int REFERENCES customer ON DELETE CASCADE);
GRANT ALL ON t, customer TO regress_gatepost_exempt, regress_gatepost_noinherit, regress_gatepost_writer;
INSERT INTO customer VALUES (1), (2), (3);
INSERT INTO t SELECT id, 0, NULL, id FROM customer;

-- what becomes of a statement for each role
CREATE FUNCTION pg_temp.as_each(command text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['exempt', 'member', 'noinherit', 'writer', 'superuser'] LOOP
    BEGIN
      IF role <> 'superuser' THEN
        EXECUTE 'SET LOCAL ROLE regress_gatepost_' || role;
      END IF;
      EXECUTE command;
      RAISE EXCEPTION USING ERRCODE = 'ZZ000';
    EXCEPTION
      WHEN SQLSTATE 'ZZ000' THEN RETURN NEXT role || ': passes';
      WHEN OTHERS THEN RETURN NEXT role || ': ' || SQLSTATE || ' ' || SQLERRM;
    END;
  END LOOP;
END $$;
CREATE FUNCTION pg_temp.each_kind(command text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gatepost.fence_protect('t', 'x', exempt => '{regress_gatepost_exempt}');
  RETURN QUERY SELECT 'lease, ' || pg_temp.as_each(command);
  PERFORM gatepost.fence_protect('t', 'x:{id}', exempt => '{regress_gatepost_exempt}');
  RETURN QUERY SELECT 'template, ' || pg_temp.as_each(command);
  PERFORM gatepost.fence_protect('t', NULL, 'fence', exempt => '{regress_gatepost_exempt}');
  RETURN QUERY SELECT 'column, ' || pg_temp.as_each(command);
END $$;
SELECT pg_temp.each_kind('UPDATE t SET v = 1');
SELECT pg_temp.each_kind('TRUNCATE t');
-- as the owner: a function of the exempt role's, a cascade into a table of the exempt role's
CREATE FUNCTION as_owner() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'UPDATE public.t SET v = 1; DELETE FROM public.t';
ALTER FUNCTION as_owner OWNER TO regress_gatepost_exempt;
SELECT pg_temp.each_kind('SELECT as_owner()');
ALTER TABLE t OWNER TO regress_gatepost_exempt;
SELECT pg_temp.each_kind('DELETE FROM customer WHERE id = 1');
-- the other way round: a function of somebody else's, called by an exempt role
ALTER FUNCTION as_owner OWNER TO regress_gatepost_writer;
SELECT pg_temp.each_kind('SELECT as_owner()');
-- an exempt role's mark is its own affair
ALTER TABLE t OWNER TO CURRENT_USER;
GRANT ALL ON t TO regress_gatepost_exempt, regress_gatepost_writer;
SET ROLE regress_gatepost_exempt;
UPDATE t SET fence = 5;
RESET ROLE;
SELECT DISTINCT fence FROM t;

-- a role that is renamed or gone exempts nobody; the name, made again, does
SELECT gatepost.fence_protect('t', 'x', exempt => '{regress_gatepost_exempt}');
ALTER ROLE regress_gatepost_exempt RENAME TO regress_gatepost_renamed;
SET ROLE regress_gatepost_renamed;
SELECT pg_temp.try('UPDATE t SET v = 1');
RESET ROLE;
SELECT exempt FROM gatepost.fenced_tables;
ALTER ROLE regress_gatepost_renamed RENAME TO regress_gatepost_exempt;
SET ROLE regress_gatepost_exempt;
SELECT pg_temp.try('UPDATE t SET v = 1');
RESET ROLE;
-- everybody, by public: no role of that name
SELECT pg_temp.try('SELECT gatepost.fence_protect(''t'', ''x'', exempt => ''{public}'')');
-- within one transaction the role of the statement counts
BEGIN;
SET LOCAL ROLE regress_gatepost_exempt;
UPDATE t SET v = 1;
SET LOCAL ROLE regress_gatepost_writer;
SELECT pg_temp.try('UPDATE t SET v = 2');
COMMIT;

DROP TABLE t, customer;
DROP FUNCTION as_owner;
DROP ROLE regress_gatepost_exempt, regress_gatepost_member, regress_gatepost_noinherit, regress_gatepost_writer;
