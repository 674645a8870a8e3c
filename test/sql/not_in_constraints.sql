-- A constraint is checked again at any time, by anybody: our functions are refused there, and in indexes by the server.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE TABLE constraints_rows (name text, token bigint);
CREATE DOMAIN constraints_name AS text;
CREATE FOREIGN DATA WRAPPER constraints_fdw;
CREATE SERVER constraints_server FOREIGN DATA WRAPPER constraints_fdw;
CREATE TABLE constraints_parted (name text, token bigint) PARTITION BY LIST (name);
CREATE OPERATOR public.!!! (FUNCTION = gatepost.lease_release, LEFTARG = text, RIGHTARG = bigint);

SELECT command, pg_temp.try(command) FROM (VALUES
  ('CREATE TABLE constraints_new (name text CHECK (gatepost.lease_acquire(name, ''1 s'') IS NOT NULL))'),
  ('CREATE TABLE constraints_new (name text, CONSTRAINT c CHECK (name <> '''' AND (name IS NULL OR gatepost.lease_status(name, 1) = ''held'')))'),
  ('CREATE TABLE constraints_new (name text CHECK (gatepost.library_version() <> ''''))'),
  ('CREATE TEMP TABLE constraints_new (name text CHECK (gatepost.token_generation() > 0))'),
  ('CREATE TABLE constraints_new PARTITION OF constraints_parted (CHECK (gatepost.lease_status(name, token) = ''held'')) FOR VALUES IN (''a'')'),
  ('CREATE FOREIGN TABLE constraints_new (name text CHECK (gatepost.lease_renew(name, 1))) SERVER constraints_server'),
  ('ALTER TABLE constraints_rows ADD CHECK (gatepost.lease_status(name, token) = ''held'')'),
  ('ALTER TABLE constraints_rows ADD CONSTRAINT later CHECK (gatepost.lease_status(name, token) = ''held'') NOT VALID'),
  ('ALTER TABLE constraints_rows ADD more text CHECK (gatepost.lease_release(more, 1))'),
  ('ALTER TABLE constraints_parted ADD CHECK (gatepost.lease_status(name, token) = ''held'')'),
  ('CREATE SCHEMA constraints_schema CREATE TABLE constraints_new (name text CHECK (gatepost.lease_break(name) IS NULL))'),
  ('CREATE DOMAIN constraints_new AS text CHECK (gatepost.lease_acquire(VALUE, ''1 s'') IS NOT NULL)'),
  ('ALTER DOMAIN constraints_name ADD CHECK (gatepost.lease_status(VALUE, 1) = ''held'')'),
  ('ALTER TABLE constraints_rows ADD CHECK (name !!! token)'),
  ('ALTER TABLE constraints_rows ADD CHECK (name !!! ANY (ARRAY[token]))'),
  ('ALTER DOMAIN constraints_name ADD CHECK (VALUE !!! 1)'),
  ('CREATE INDEX ON constraints_rows (gatepost.lease_status(name, token))'),
  ('CREATE INDEX ON constraints_rows (name) WHERE gatepost.lease_status(name, token) = ''held'''),
  ('CREATE UNIQUE INDEX ON constraints_rows ((gatepost.lease_acquire(name, ''1 s'') IS NULL))'),
  ('ALTER TABLE constraints_rows ADD state text GENERATED ALWAYS AS (gatepost.lease_status(name, token)) STORED'),
  ('CREATE TABLE constraints_new (name text) PARTITION BY LIST (gatepost.lease_status(name, 1))'),
  ('ALTER TABLE constraints_rows ADD EXCLUDE (gatepost.lease_status(name, token) WITH =)')) AS v(command);

-- as a plain statement, and inside a transaction that goes with it
ALTER TABLE constraints_rows ADD CHECK (gatepost.lease_status(name, token) = 'held');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CREATE TABLE constraints_new (name text);
ALTER TABLE constraints_new ADD CHECK (gatepost.lease_status(name, 1) = 'held');
COMMIT;

-- where nobody says what a command has made
CREATE FUNCTION constraints_try(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE command;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE MATERIALIZED VIEW constraints_within AS SELECT command, public.constraints_try(command) FROM (VALUES
  ('CREATE DOMAIN public.constraints_new AS text CHECK (gatepost.lease_acquire(VALUE, ''1 s'') IS NOT NULL)'),
  ('CREATE TABLE public.constraints_new (name text CHECK (gatepost.lease_release(name, 1)))'),
  ('CREATE DOMAIN public.constraints_new AS int CHECK (VALUE > 0)'),
  ('DROP DOMAIN public.constraints_new')) AS v(command) WITH NO DATA;
REFRESH MATERIALIZED VIEW constraints_within;
TABLE constraints_within;
DROP MATERIALIZED VIEW constraints_within;
DROP FUNCTION constraints_try;

-- nothing of it is left
SELECT count(*) FROM pg_class WHERE relname = 'constraints_new';
SELECT count(*) FROM pg_constraint WHERE conrelid IN ('constraints_rows'::regclass, 'constraints_parted'::regclass) OR contypid = 'constraints_name'::regtype;
SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'constraints_rows'::regclass AND attnum > 0 AND NOT attisdropped;

-- other constraints, functions of the same name elsewhere, defaults, triggers, policies, views: as ever
CREATE FUNCTION public.lease_status(text, bigint) RETURNS text LANGUAGE sql AS 'SELECT ''mine''';
SELECT command, pg_temp.try(command) FROM (VALUES
  ('ALTER TABLE constraints_rows ADD CHECK (name <> ''gatepost.lease_status'')'),
  ('ALTER TABLE constraints_rows ADD CHECK (public.lease_status(name, token) = ''mine'')'),
  ('ALTER TABLE constraints_rows ADD PRIMARY KEY (name)'),
  ('ALTER TABLE constraints_rows ALTER token SET DEFAULT gatepost.token_draw()'),
  ('ALTER DOMAIN constraints_name ADD CHECK (VALUE <> '''')'),
  ('CREATE POLICY held ON constraints_rows USING (gatepost.lease_status(name, token) = ''held'')'),
  ('CREATE VIEW constraints_view AS SELECT *, gatepost.lease_status(name, token) FROM constraints_rows'),
  ('CREATE DOMAIN constraints_other AS int CHECK (VALUE > 0)'),
  ('CREATE TABLE constraints_third (a int CHECK (a > 0), b constraints_other, c constraints_name)')) AS v(command);
INSERT INTO constraints_rows (name) VALUES ('a') RETURNING token > 0;

-- by a role that has nothing to do with us
CREATE ROLE regress_gatepost_plain;
CREATE SCHEMA constraints_plain AUTHORIZATION regress_gatepost_plain;
SET ROLE regress_gatepost_plain;
SELECT pg_temp.try('CREATE TABLE constraints_plain.t (a int CHECK (a > 0))'), pg_temp.try('CREATE DOMAIN constraints_plain.d AS int CHECK (VALUE > 0)'),
       pg_temp.try('ALTER TABLE constraints_plain.t ADD b text CHECK (b <> '''')');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA constraints_plain CASCADE;
DROP ROLE regress_gatepost_plain;
DROP VIEW constraints_view;
DROP TABLE constraints_rows, constraints_parted, constraints_third;
DROP DOMAIN constraints_name, constraints_other;
DROP FUNCTION public.lease_status(text, bigint);
DROP OPERATOR public.!!! (text, bigint);
DROP FOREIGN DATA WRAPPER constraints_fdw CASCADE;
