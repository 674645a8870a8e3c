-- Our rows are written directly: executor DML is refused to everybody, a changed layout is noticed before it is used.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.lease_acquire('guard/a', '10 min') AS a \gset
SELECT gatepost.lease_acquire('guard/r', '10 min') AS r \gset
SELECT gatepost.lease_release('guard/r', :r);
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

-- executor DML, by a superuser
CREATE FUNCTION pg_temp.dml(OUT command text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, pg_temp.try(c) FROM unnest(ARRAY[
    'INSERT INTO gatepost.lease_slots SELECT * FROM gatepost.lease_slots LIMIT 1',
    'INSERT INTO gatepost.lease_slots SELECT * FROM gatepost.lease_slots LIMIT 1 ON CONFLICT DO NOTHING',
    'UPDATE gatepost.lease_slots SET name = name',
    'DELETE FROM gatepost.lease_slots WHERE name = ''guard/a''',
    'TRUNCATE gatepost.lease_slots',
    'TRUNCATE gatepost.lease_slots CASCADE',
    'MERGE INTO gatepost.lease_slots s USING (SELECT) AS v ON s.name = ''guard/a'' WHEN MATCHED THEN DELETE',
    'INSERT INTO gatepost.queue SELECT * FROM gatepost.queue',
    'UPDATE gatepost.queue SET deadline = deadline',
    'DELETE FROM gatepost.queue',
    'TRUNCATE gatepost.queue',
    'INSERT INTO gatepost.identity SELECT * FROM gatepost.identity',
    'DELETE FROM gatepost.identity',
    'TRUNCATE gatepost.identity']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
SELECT * FROM pg_temp.dml();
COPY gatepost.lease_slots FROM STDIN;
\.
-- as an apply worker or a restore would
SET session_replication_role = replica;
SELECT command, left(answer, 5) FROM pg_temp.dml();
RESET session_replication_role;
-- reading and locking rows is no DML
SELECT count(*) FROM gatepost.lease_slots WHERE name = 'guard/a';
BEGIN;
SELECT count(*) FROM (SELECT FROM gatepost.lease_slots WHERE name = 'guard/a' FOR UPDATE) AS locked;
COMMIT;
SELECT gatepost.lease_status('guard/a', :a), gatepost.lease_renew('guard/a', :a);

-- a changed layout: every call says so until it is undone. A unique index would wait for other transactions
SELECT set_config('guard.token', :'a', false) IS NOT NULL;
CREATE FUNCTION pg_temp.calls() RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(DISTINCT split_part(pg_temp.ask('SELECT ' || c, current_setting('guard.token')::bigint), ' ', 1), ' ')
  FROM unnest(ARRAY[
    'gatepost.lease_acquire(''guard/a'', ''10 min'') IS NULL', 'gatepost.lease_renew(''guard/a'', $1)',
    'gatepost.lease_release(''guard/new'', gatepost.lease_acquire(''guard/new'', ''10 min''))', 'NOT gatepost.lease_release(''guard/r'', $1)',
    'gatepost.lease_break(''guard/r'') IS NULL', 'gatepost.lease_purge(''0'', ''guard/none'') = 0', 'gatepost.lease_status(''guard/a'', $1) = ''held''',
    'count(*) >= 2 FROM gatepost.leases WHERE name LIKE ''guard/%''']) AS c
$$;
SELECT pg_temp.calls();
CREATE FUNCTION pg_temp.with_change(change text, undo text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  during text;
BEGIN
  EXECUTE change;
  during := pg_temp.calls();
  EXECUTE undo;
  RETURN 'during: ' || during || ', after: ' || pg_temp.calls();
END $$;
SELECT change, pg_temp.with_change(change, undo) FROM (VALUES
  ('CREATE INDEX guard_expr ON gatepost.lease_slots (upper(name))', 'DROP INDEX gatepost.guard_expr'),
  ('CREATE INDEX guard_part ON gatepost.lease_slots (token) WHERE token > 7', 'DROP INDEX gatepost.guard_part'),
  ('CREATE UNIQUE INDEX guard_uexpr ON gatepost.lease_slots ((token + 1))', 'DROP INDEX gatepost.guard_uexpr'),
  ('CREATE UNIQUE INDEX guard_unique ON gatepost.lease_slots (token)', 'DROP INDEX gatepost.guard_unique'),
  ('CREATE INDEX guard_superseded ON gatepost.lease_slots (superseded)', 'DROP INDEX gatepost.guard_superseded'),
  ('CREATE INDEX guard_asked ON gatepost.lease_slots (name, yield_asked)', 'DROP INDEX gatepost.guard_asked'),
  ('CREATE INDEX guard_reason ON gatepost.lease_slots (token) INCLUDE (yield_reason)', 'DROP INDEX gatepost.guard_reason'),
  ('CREATE INDEX guard_hash ON gatepost.lease_slots USING hash (token)', 'DROP INDEX gatepost.guard_hash')) AS v(change, undo);
-- also when the change is committed, and seen by a session that has used the table before
CREATE INDEX guard_expr ON gatepost.lease_slots (lower(name));
SELECT pg_temp.calls();
DROP INDEX gatepost.guard_expr;
SELECT pg_temp.calls();
-- the message names what was found
BEGIN;
CREATE INDEX guard_expr ON gatepost.lease_slots ((token + 1));
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''guard/a'', $1)', :a), pg_temp.detail('SELECT gatepost.lease_renew(''guard/a'', $1)', :a);
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.lease_slots ADD more int;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''guard/a'', $1)', :a), pg_temp.detail('SELECT gatepost.lease_renew(''guard/a'', $1)', :a);
ROLLBACK;
-- a column added and dropped again is undone
BEGIN;
ALTER TABLE gatepost.lease_slots ADD more int;
ALTER TABLE gatepost.lease_slots DROP more;
SELECT pg_temp.calls();
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.lease_slots ALTER token TYPE numeric;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''guard/a'', $1)', :a), pg_temp.detail('SELECT gatepost.lease_renew(''guard/a'', $1)', :a);
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.lease_slots RENAME token TO tokens;
SELECT left(pg_temp.ask('SELECT gatepost.lease_status(''guard/a'', $1)', :a), 5);
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.identity ADD more int;
SELECT left(pg_temp.ask('SELECT gatepost.token_draw()'), 5);
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.lease_slots SET UNLOGGED;
SELECT left(pg_temp.ask('SELECT gatepost.lease_renew(''guard/a'', $1)', :a), 5);
ROLLBACK;
SELECT pg_temp.calls();
-- the queue is part of it for those who look into it
CREATE FUNCTION pg_temp.queue_calls(OUT call text, OUT answer text, OUT detail text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, left(pg_temp.ask('SELECT gatepost.' || c), 5), pg_temp.detail('SELECT gatepost.' || c)
  FROM unnest(ARRAY['lease_queue(''guard/a'', ''6f1c3d3e-0000-4000-8000-000000000001'', ''1 h'', ''1 min'')', 'lease_acquire(''guard/new'', ''1 h'')',
                    'lease_watch(''guard/a'')', 'queued_keys()', 'lease_renew(''guard/a'', 1)']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
BEGIN;
ALTER TABLE gatepost.queue ADD more int;
SELECT * FROM pg_temp.queue_calls();
ROLLBACK;
BEGIN;
CREATE INDEX guard_queue ON gatepost.queue (key, deadline);
SELECT * FROM pg_temp.queue_calls();
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.queue DROP CONSTRAINT queue_pkey, ADD PRIMARY KEY (arrival, key);
SELECT * FROM pg_temp.queue_calls();
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.queue SET UNLOGGED;
SELECT * FROM pg_temp.queue_calls();
ROLLBACK;
SELECT pg_temp.calls(), gatepost.lease_unwatch('guard/a');

-- the sequence is part of the layout
ALTER SEQUENCE gatepost.token_sequence INCREMENT 1;
SELECT left(pg_temp.ask('SELECT gatepost.token_draw()'), 5) AS during;
ALTER SEQUENCE gatepost.token_sequence INCREMENT 32;
SELECT gatepost.token_draw() > 0 AS after;
ALTER SEQUENCE gatepost.token_sequence CYCLE;
SELECT left(pg_temp.ask('SELECT gatepost.token_draw()'), 5) AS during;
ALTER SEQUENCE gatepost.token_sequence NO CYCLE;
SELECT gatepost.token_draw() > 0 AS after;
ALTER SEQUENCE gatepost.token_sequence CACHE 10;
SELECT left(pg_temp.ask('SELECT gatepost.token_draw()'), 5) AS during;
ALTER SEQUENCE gatepost.token_sequence CACHE 1;
SELECT gatepost.token_draw() > 0 AS after;
ALTER SEQUENCE gatepost.token_sequence MAXVALUE 9007199254740992;
SELECT left(pg_temp.ask('SELECT gatepost.token_draw()'), 5) AS during;
ALTER SEQUENCE gatepost.token_sequence MAXVALUE 9007199254740991;
SELECT gatepost.token_draw() > 0 AS after;
-- altered in this transaction: a rollback would bring back a file in which later tokens have not been drawn
BEGIN;
ALTER SEQUENCE gatepost.token_sequence INCREMENT BY 32;
SELECT pg_temp.ask('SELECT gatepost.token_draw()');
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''guard/altered'', ''1 min'')');
ROLLBACK;
SELECT gatepost.token_draw() > 0 AS after;
-- a plain index more costs HOT, not safety
CREATE INDEX guard_plain ON gatepost.lease_slots (token);
SELECT pg_temp.calls();
SET enable_seqscan = off;
SELECT count(*) FROM gatepost.lease_slots WHERE token = :a;
RESET enable_seqscan;
DROP INDEX gatepost.guard_plain;
SELECT pg_temp.calls();

-- rewritten and re-indexed under a session that has used it
REINDEX TABLE gatepost.lease_slots;
SELECT pg_temp.calls();
REINDEX TABLE CONCURRENTLY gatepost.lease_slots;
SELECT pg_temp.calls();
VACUUM FULL gatepost.lease_slots;
SELECT pg_temp.calls();
CLUSTER gatepost.lease_slots USING lease_slots_pkey;
SELECT pg_temp.calls();
VACUUM FREEZE ANALYZE gatepost.lease_slots;
SELECT pg_temp.calls();
VACUUM FULL gatepost.identity;
SELECT pg_temp.calls(), gatepost.token_draw() > :a;
ALTER TABLE gatepost.lease_slots SET (fillfactor = 100);
SELECT pg_temp.calls();
ALTER TABLE gatepost.lease_slots SET (fillfactor = 50);
SELECT gatepost.lease_status('guard/a', :a), pg_temp.locks_left();

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'guard/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'guard/') > 0;

-- rows are looked up by bytes, so in no other collation
BEGIN;
ALTER TABLE gatepost.lease_slots ALTER COLUMN name TYPE text COLLATE "POSIX";
SELECT pg_temp.ask('SELECT gatepost.lease_acquire(''guard/collation'', ''1 min'')');
ROLLBACK;
SELECT gatepost.lease_acquire('guard/collation', '1 min') > 0 AS undone;
SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name = 'guard/collation' AND state = 'held';

-- what is there instead, for each table that a statement may want to empty
\set VERBOSITY default
DELETE FROM gatepost.lease_slots;
DELETE FROM gatepost.queue;
DELETE FROM gatepost.name_rules;
DELETE FROM gatepost.refusal_counters;
DELETE FROM gatepost.refusal_history;
DELETE FROM gatepost.identity;
TRUNCATE gatepost.marks;
TRUNCATE gatepost.claims;
