-- The named locks: what each call answers, and what it refuses.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- an uncontended name, in every form
SELECT gatepost.advisory_xact_lock('arguments/a') AS waits, gatepost.advisory_xact_lock('arguments/a', true) AS shared,
       gatepost.try_advisory_xact_lock('arguments/b') AS tries, gatepost.try_advisory_xact_lock('arguments/b', '1 s') AS within,
       gatepost.try_advisory_xact_lock('arguments/b', shared => true) AS shared;
SELECT pg_temp.locks_left();
SELECT gatepost.advisory_lock('arguments/a') AS waits, gatepost.advisory_lock('arguments/a', shared => true) AS shared,
       gatepost.try_advisory_lock('arguments/b') AS tries, gatepost.try_advisory_lock('arguments/b', '1 s') AS within,
       gatepost.try_advisory_lock('arguments/b', '0', true) AS shared;
SELECT gatepost.advisory_unlock('arguments/a'), gatepost.advisory_unlock('arguments/a', true),
       gatepost.advisory_unlock('arguments/b'), gatepost.advisory_unlock('arguments/b', shared => false),
       gatepost.advisory_unlock('arguments/b', shared => true);
SELECT pg_temp.locks_left();

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
-- $1 stands for the name in every call
CREATE FUNCTION pg_temp.calls(argument text, OUT call text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, pg_temp.ask('SELECT gatepost.' || replace(c, '$1', argument))
  FROM unnest(ARRAY['advisory_xact_lock($1)', 'try_advisory_xact_lock($1)', 'advisory_lock($1)', 'try_advisory_lock($1)',
                    'advisory_unlock($1)', 'advisory_key($1)']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
\echo -- no name
SELECT * FROM pg_temp.calls('NULL');
\echo -- an empty one
SELECT * FROM pg_temp.calls('''''');
\echo -- a byte too long, and just not
SELECT * FROM pg_temp.calls('repeat(''x'', 1025)');
SELECT bytes, pg_temp.ask(format('SELECT gatepost.try_advisory_xact_lock(repeat(%L, %s))', piece, bytes / octet_length(piece)))
FROM (VALUES ('x', 1), ('x', 1024), ('é', 1024), ('🔑', 1024), ('é', 1026), ('🔑', 1028)) AS v(piece, bytes);
\echo -- shared or not, but not NULL
SELECT call, pg_temp.ask('SELECT gatepost.' || call)
FROM unnest(ARRAY['advisory_xact_lock(''arguments/a'', NULL)', 'try_advisory_xact_lock(''arguments/a'', ''0'', NULL)',
                  'advisory_lock(''arguments/a'', NULL)', 'try_advisory_lock(''arguments/a'', ''0'', NULL)',
                  'advisory_unlock(''arguments/a'', NULL)']) AS call;
\echo -- how long to wait
SELECT wait, form, pg_temp.ask(format('SELECT gatepost.%s(''arguments/a'', %L::interval)', form, wait))
FROM unnest(ARRAY[NULL, '-1 us', '-1 day', '1 day -25 hours', '1 month', '-1 month', '1 year -12 months', '0', '1 us', '100 days',
                  '2562047788 hours']) WITH ORDINALITY AS w(wait, n),
     unnest(ARRAY['try_advisory_xact_lock', 'try_advisory_lock']) AS form ORDER BY n, form;
\echo -- for ever: an interval from 17 on, and no wait of ours
SELECT left(pg_temp.ask('SELECT gatepost.try_advisory_xact_lock(''arguments/a'', ''infinity''::interval)'), 5) IN ('22023', '22007'),
       left(pg_temp.ask('SELECT gatepost.try_advisory_lock(''arguments/a'', ''-infinity''::interval)'), 5) IN ('22023', '22007');
\pset tuples_only off
\pset format aligned

-- only what was granted is held
SELECT name, mode, scope FROM gatepost.advisory_locks;
SELECT count(gatepost.advisory_unlock('arguments/a')) FROM generate_series(1, 5);
SELECT name, mode, scope FROM gatepost.advisory_locks;

-- nothing to unlock: never locked, locked by the transaction, in the other mode, once too often; no case is silent
\set unlock 'SELECT gatepost.advisory_unlock(''arguments/c'')'
\set unlock_shared 'SELECT gatepost.advisory_unlock(''arguments/c'', true)'
SELECT pg_temp.try(:'unlock'), pg_temp.try(:'unlock_shared');
BEGIN;
SELECT gatepost.advisory_xact_lock('arguments/c'), gatepost.advisory_xact_lock('arguments/c', true);
SELECT pg_temp.try(:'unlock'), pg_temp.try(:'unlock_shared');
SELECT name, mode, scope FROM gatepost.advisory_locks ORDER BY mode;
COMMIT;
SELECT gatepost.advisory_lock('arguments/c');
SELECT pg_temp.try(:'unlock_shared');
SELECT pg_temp.try(:'unlock');
SELECT pg_temp.try(:'unlock');
-- one that core holds under the same numbers is another lock
SELECT pg_advisory_lock(gatepost.advisory_key('arguments/c'));
SELECT pg_temp.try(:'unlock');
SELECT pg_advisory_unlock(gatepost.advisory_key('arguments/c'));
-- a long name is named in part
SELECT length(pg_temp.try(format('SELECT gatepost.advisory_unlock(%L)', repeat('🔑', 256)))) < 200 AS short;
\set VERBOSITY default
SELECT gatepost.advisory_unlock('arguments/c');
\set VERBOSITY terse

-- not where somebody else's rights may be at work
CREATE TABLE arguments_rows (name text);
INSERT INTO arguments_rows VALUES ('arguments/d');
CREATE FUNCTION arguments_locks(name text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gatepost.advisory_lock(name);
  RETURN name;
END $$;
CREATE INDEX ON arguments_rows (arguments_locks(name));
DROP TABLE arguments_rows;
DROP FUNCTION arguments_locks;

SELECT pg_temp.locks_left();
