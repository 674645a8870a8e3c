-- What fence_protect and fence_unprotect take, and what they refuse.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE ROLE regress_gatepost_owner;
CREATE ROLE regress_gatepost_other;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_owner, regress_gatepost_other;
GRANT EXECUTE ON FUNCTION gatepost.fence_protect, gatepost.fence_unprotect TO regress_gatepost_owner, regress_gatepost_other;
SET client_min_messages = warning;
CREATE COLLATION no_case (provider = icu, locale = 'und', deterministic = false);
RESET client_min_messages;
CREATE DOMAIN mark AS bigint;
CREATE DOMAIN word AS text;
CREATE TABLE t (id int, small smallint, big bigint, u uuid, b boolean, v text, vc varchar(10), w word, fence bigint,
  made int GENERATED ALWAYS AS (id + 1) STORED, counted bigint GENERATED ALWAYS AS IDENTITY,
  reckoned bigint GENERATED ALWAYS AS (id + 1) STORED, m mark, f float8, n numeric,
  at timestamptz, d date, c char(3), ic text COLLATE no_case, name name, bytes bytea, js jsonb, "}" int);
GRANT ALL ON t TO regress_gatepost_owner;
CREATE VIEW seen AS SELECT * FROM t;
CREATE MATERIALIZED VIEW kept AS SELECT 1;
CREATE SEQUENCE numbers;
CREATE INDEX t_index ON t (id);
CREATE TYPE pair AS (a int, b int);
CREATE FOREIGN DATA WRAPPER regress_gatepost;
CREATE SERVER regress_gatepost FOREIGN DATA WRAPPER regress_gatepost;
CREATE FOREIGN TABLE abroad (id int) SERVER regress_gatepost;

-- bad calls, none of which protects anything
SELECT call, pg_temp.try('SELECT gatepost.fence_protect(' || call || ')') FROM unnest(ARRAY[
  'NULL, ''x''', '''t''', '''t'', ''x'', issuer => NULL', '''t'', ''x'', exempt => NULL', '''t'', ''x'', exempt => ''{NULL}''',
  '''t'', ''x'', exempt => ''{regress_gatepost_nobody}''', '''t'', ''x'', exempt => ''{4000000000}''', '''t'', ''x'', exempt => ''{-}''',
  '4000000000', '4000000000, ''x''', '0, ''x''', '''t'', ''''', '''t'', repeat(''x'', 1025)', '''t'', repeat(''é'', 513)', '''t'', repeat(''x'', 1025) || ''{id}''', '''t'', repeat(''x'', 512) || ''{id}{{'' || repeat(''x'', 512)',
  '''t'', ''x'', issuer => ''any''', '''t'', ''x'', issuer => ''''', '''t'', NULL, ''fence'', ''Gatepost''', 
  '''t'', ''{id}'', ''fence''', '''t'', ''x{'', ''fence''', '''t'', ''x{''', '''t'', ''x}''', '''t'', ''{}''', '''t'', ''{id''', '''t'', ''{id}}''', '''t'', ''{{id}''',
  '''t'', ''{nothing}''', '''t'', ''{ctid}''', '''t'', ''{tableoid}''', '''t'', ''{ID}''', '''t'', ''{ id}''', '''t'', ''{' || repeat('c', 100) || '}''',
  '''t'', ''{}}''', '''t'', ''{f}''', '''t'', ''{n}''', '''t'', ''{at}''', '''t'', ''{d}''', '''t'', ''{c}''', '''t'', ''{ic}''', '''t'', ''{name}''', '''t'', ''{bytes}''',
  '''t'', ''{js}''', '''t'', ''{made}''', '''t'', NULL, ''nothing''', '''t'', NULL, ''ctid''', '''t'', NULL, ''''', '''t'', NULL, ''id''', '''t'', NULL, ''v''', '''t'', NULL, ''m''',
  '''t'', NULL, ''made''', '''t'', NULL, ''counted''', '''t'', NULL, ''reckoned''', '''seen'', ''x''', '''kept'', ''x''', '''numbers'', ''x''', '''t_index'', ''x''', '''pair'', ''x''', '''abroad'', ''x''',
  '''pg_catalog.pg_class'', ''x''', '''pg_catalog.pg_authid'', ''x''', '''gatepost.lease_slots'', ''x''', '''gatepost.floor'', ''x''', '''gatepost.name_rules'', ''x''',
  '''gatepost.leases'', ''x''']) WITH ORDINALITY AS u(call, n) ORDER BY n;
SELECT call, pg_temp.try('SELECT gatepost.fence_unprotect(' || call || ')') FROM unnest(ARRAY[
  'NULL', '''t''', '''seen''', '0', '4000000000', '''gatepost.lease_slots''']) WITH ORDINALITY AS u(call, n) ORDER BY n;
BEGIN READ ONLY;
SELECT pg_temp.try('SELECT gatepost.fence_protect(''t'', ''x'')'), pg_temp.try('SELECT gatepost.fence_unprotect(''t'')');
COMMIT;
SELECT count(*) FROM gatepost.fenced_tables;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass;

-- good ones, each in place of the one before
CREATE FUNCTION pg_temp.protected(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT gatepost.fence_protect(' || call || ')';
  RETURN (SELECT format('%s %s %s %s %s %s %s', mode, left(lease, 30), fence_column, issuer, exempt, guarded, gaps)
    FROM gatepost.fenced_tables WHERE relation = 't'::regclass);
END $$;
SELECT call, pg_temp.protected(call) FROM unnest(ARRAY[
  '''t'', ''x''', '''t'', ''{{id}}''', '''t'', repeat(''x'', 1024)', '''t'', repeat(''x'', 1024) || ''{v}''', '''t'', ''{small}{big}{u}{b}{v}{vc}{w}''', '''t'', ''{{{id}}}:{id}''', '''t'', ''{id}}}''',
  '''t'', NULL, ''fence''', '''t'', NULL, ''fence'', ''any''', '''t'', ''x'', ''fence''', '''t'', ''{{x}}'', ''big''',
  '''t'', ''x'', exempt => ''{regress_gatepost_owner,regress_gatepost_other}''', '''t'', ''x'', exempt => ''{}''']) WITH ORDINALITY AS u(call, n) ORDER BY n;
SELECT tgname, tgenabled, tgtype FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY 1;
SELECT gatepost.fence_unprotect('t');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass;

-- a name that does not fit the row is found out when the row is written
SELECT gatepost.fence_protect('t', '{v}');
SELECT pg_temp.try('INSERT INTO t (v) VALUES (NULL)'), pg_temp.try('INSERT INTO t (v) VALUES ('''')'), pg_temp.try('INSERT INTO t (v) VALUES (repeat(''x'', 1025))');
SELECT gatepost.fence_protect('t', repeat('y', 1020) || '{id}');
SELECT pg_temp.try('INSERT INTO t (id) VALUES (12345)');
SELECT gatepost.fence_unprotect('t');

-- owners: of the table, of what is below it, and of what it is in
SET ROLE regress_gatepost_owner;
SELECT pg_temp.try('SELECT gatepost.fence_protect(''t'', ''x'')'), pg_temp.try('SELECT gatepost.fence_unprotect(''t'')');
RESET ROLE;
CREATE TABLE base (id int);
CREATE TABLE child () INHERITS (base);
ALTER TABLE base OWNER TO regress_gatepost_owner;
ALTER TABLE child OWNER TO regress_gatepost_other;
SET ROLE regress_gatepost_owner;
SELECT pg_temp.try('SELECT gatepost.fence_protect(''base'', ''x'')');
SET ROLE regress_gatepost_other;
SELECT pg_temp.try('SELECT gatepost.fence_protect(''base'', ''x'')');
SELECT pg_temp.try('SELECT gatepost.fence_protect(''child'', ''x'')');
SET ROLE regress_gatepost_owner;
SELECT pg_temp.try('SELECT gatepost.fence_unprotect(''base'')'), pg_temp.try('SELECT gatepost.fence_unprotect(''child'')');
RESET ROLE;
SELECT relation, lease, guarded FROM gatepost.fenced_tables;
-- an owner needs no right on the functions of the triggers, and those who write none at all
DROP TABLE child;
SET ROLE regress_gatepost_owner;
SELECT pg_temp.try('SELECT gatepost.fence_protect(''base'', ''x'')');
GRANT INSERT ON base TO regress_gatepost_other;
RESET ROLE;
REVOKE ALL ON SCHEMA gatepost FROM regress_gatepost_other;
SET ROLE regress_gatepost_other;
SELECT pg_temp.try('INSERT INTO base VALUES (1)');
RESET ROLE;

DROP TABLE base, t CASCADE;
DROP FOREIGN DATA WRAPPER regress_gatepost CASCADE;
DROP MATERIALIZED VIEW kept;
DROP SEQUENCE numbers;
DROP TYPE pair;
DROP DOMAIN mark, word;
DROP COLLATION no_case;
REVOKE ALL ON SCHEMA gatepost FROM regress_gatepost_owner;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA gatepost FROM regress_gatepost_owner, regress_gatepost_other;
DROP ROLE regress_gatepost_owner, regress_gatepost_other;
