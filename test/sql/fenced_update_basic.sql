-- fenced_update: which tokens pass, what is false, what is an error.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE fenced_rows (id int PRIMARY KEY, v text DEFAULT 'untouched', n int, fence bigint);
INSERT INTO fenced_rows VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL);
CREATE FUNCTION pg_temp.write(v text, token bigint) RETURNS text LANGUAGE sql AS $$
  SELECT pg_temp.ask(format('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 1}'', %L, $1)', jsonb_build_object('v', v)), token)
$$;

-- the row as the newest snapshot has it
CREATE FUNCTION pg_temp.row_now() RETURNS text VOLATILE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT r::text FROM fenced_rows AS r WHERE id = 1); END $$;

-- the first mark, the same again, a lower one, a higher one, the old one
SELECT v AS written, token, pg_temp.write(v, token), pg_temp.row_now() AS row
FROM (VALUES ('five', 5), ('five again', 5), ('four', 4), ('six', 6), ('five late', 5)) AS w(v, token);
TABLE fenced_rows ORDER BY id;
-- the detail names both numbers
SELECT pg_temp.detail('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 1}'', ''{"v": "four"}'', 4)') ~ '\m4\M.*\m6\M' AS both;

-- no way round: NULL, zero, negative, out of range, never drawn
SELECT pg_temp.write('null', NULL);
SELECT pg_temp.write('zero', 0);
SELECT pg_temp.write('negative', -1);
SELECT pg_temp.write('smallest', -9223372036854775808);
SELECT pg_temp.write('2^53', 9007199254740992);
SELECT pg_temp.write('largest', 9223372036854775807);
SELECT left(pg_temp.write('2^53 - 1', 9007199254740991), 5);
SELECT gatepost.token_draw() AS newest \gset
SELECT left(pg_temp.write('next', :newest + 32), 5), left(pg_temp.write('just above', :newest + 1), 5);
TABLE fenced_rows ORDER BY id;
-- the newest drawn passes
SELECT pg_temp.write('newest', :newest);
SELECT id, v, n, fence = :newest AS newest FROM fenced_rows ORDER BY id;

-- a fence orders writers: a lease that lapsed, was released or has another name still orders
SELECT gatepost.lease_acquire('fenced/a', '1 ms') AS lapsed \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''fenced/a'', $1) = ''lapsed''', :lapsed);
SELECT pg_temp.write('lapsed but highest', :lapsed);
SELECT gatepost.lease_acquire('fenced/a', '10 min') AS next_holder \gset
SELECT pg_temp.write('next holder', :next_holder);
SELECT pg_temp.write('lapsed', :lapsed) = 'LG001 token ' || :lapsed || ' is stale' AS stale;
SELECT v FROM fenced_rows WHERE id = 1;
SELECT gatepost.lease_release('fenced/a', :next_holder);

-- the stale write as a plain statement: it ends the transaction, with what was done before in it
BEGIN;
UPDATE fenced_rows SET v = 'goes with it' WHERE id = 2;
SELECT gatepost.fenced_update('fenced_rows', '{"id": 1}', '{"v": "stale"}', 7);
\echo :LAST_ERROR_SQLSTATE
SELECT v FROM fenced_rows WHERE id = 2;
ROLLBACK;
SELECT id, v FROM fenced_rows ORDER BY id;

-- a row that is not there is false, whatever the token
SELECT gatepost.fenced_update('fenced_rows', '{"id": 3}', '{"v": "x"}', 1), gatepost.fenced_update('fenced_rows', '{"id": 3}', '{}', :newest);
SELECT count(*) FROM fenced_rows;

-- several columns, NULL, and only those that are named
SELECT gatepost.fenced_update('fenced_rows', '{"id": 2}', '{"v": null, "n": 22}', 5);
SELECT * FROM fenced_rows WHERE id = 2;
-- no changes: the mark alone moves, and is checked
SELECT gatepost.fenced_update('fenced_rows', '{"id": 2}', '{}', 9);
SELECT * FROM fenced_rows WHERE id = 2;
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 2}'', ''{}'', 8)');
-- the key itself can change
SELECT gatepost.fenced_update('fenced_rows', '{"id": 2}', '{"id": 20}', 9);
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 20}'', ''{"id": 1}'', 9)');
SELECT gatepost.fenced_update('fenced_rows', '{"id": 20}', '{"id": 2}', 9);

-- another fence column
ALTER TABLE fenced_rows ADD mark bigint;
SELECT gatepost.fenced_update('fenced_rows', '{"id": 2}', '{"v": "by mark"}', 3, 'mark');
SELECT * FROM fenced_rows WHERE id = 2;
SELECT pg_temp.ask('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 2}'', ''{"v": "x"}'', 2, fence_column => ''mark'')');

-- a mark of this generation that was not drawn here, below the token: two servers have granted since they parted
UPDATE fenced_rows SET fence = (:newest # 1) - 320 WHERE id = 2;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 2}'', ''{"v": "split"}'', $1)', :newest), 5);
SELECT v, fence = (:newest # 1) - 320 AS mark_unchanged FROM fenced_rows WHERE id = 2;

-- a mark above anything drawn here (a restored table): lower tokens are stale
UPDATE fenced_rows SET fence = 9007199254740991 WHERE id = 2;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''fenced_rows'', ''{"id": 2}'', ''{"v": "x"}'', $1)', :newest), 5);

-- bad arguments
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
SELECT call, pg_temp.ask('SELECT gatepost.fenced_update(' || call || ')') FROM (VALUES
  ($$NULL, '{"id": 1}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', NULL, '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": 1}', NULL, 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', NULL$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, NULL$$),
  ($$'fenced_nowhere', '{"id": 1}', '{"v": "x"}', 7$$),
  ($$0, '{"id": 1}', '{"v": "x"}', 7$$),
  ($$4294967295, '{"id": 1}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '[1]', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '1', '{"v": "x"}', 7$$),
  ($$'fenced_rows', 'null', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": null}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": "one"}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": 3000000000}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": {"a": 1}}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"none": 1}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"ID": 1}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"v": "a"}', '{"n": 1}', 7$$),
  ($$'fenced_rows', '{"ctid": "(0,1)"}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '["v"]', 7$$),
  ($$'fenced_rows', '{"id": 1}', '"v"', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"none": 1}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"": 1}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"ctid": "(0,1)"}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"xmin": 1}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"n": "x"}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"n": 3000000000}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"fence": 9}', 7$$),
  ($$'fenced_rows', '{"id": 1, "fence": 9}', '{"v": "x"}', 7$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, 'none'$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, 'Fence'$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, ''$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, 'ctid'$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, 'n'$$),
  ($$'fenced_rows', '{"id": 1}', '{"n": 1}', 7, 'v'$$),
  ($$'fenced_rows', '{"id": 1}', '{"v": "x"}', 7, 'id'$$)) AS v(call);
SELECT id, v, n, mark FROM fenced_rows ORDER BY id;
SELECT pg_temp.locks_left();

SELECT gatepost.lease_purge('0', 'fenced/');
DROP TABLE fenced_rows;
