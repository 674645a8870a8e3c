-- How long a use lasts: (sub)transactions, own grants, several names, blocks, cursors, deferred triggers.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE TABLE a (id int, v int);
CREATE TABLE b (id int, v int);
CREATE TABLE marked (id int, fence bigint);
INSERT INTO a VALUES (1, 0);
INSERT INTO b VALUES (1, 0);
SELECT gatepost.fence_protect('a', 'a'), gatepost.fence_protect('b', 'b:{id}'), gatepost.fence_protect('marked', NULL, 'fence');
SELECT gatepost.lease_acquire('a', '1 h') AS a \gset
SELECT gatepost.lease_acquire('b:1', '1 h') AS b \gset
\set write_a 'SELECT pg_temp.try(''UPDATE a SET v = v + 1'')'
\set write_b 'SELECT pg_temp.try(''UPDATE b SET v = v + 1'')'
\set mark 'SELECT pg_temp.try(''INSERT INTO marked VALUES (1)'')'

-- until the transaction ends, whichever way
BEGIN; SELECT gatepost.fence_use('a', :a); :write_a; COMMIT;
:write_a;
BEGIN; SELECT gatepost.fence_use('a', :a); ROLLBACK;
:write_a;
BEGIN; SELECT gatepost.fence_use('a', :a); COMMIT AND CHAIN; :write_a; COMMIT;
-- several names, and none but these
BEGIN; SELECT gatepost.fence_use('a', :a); :write_b; SELECT gatepost.fence_use('b:1', :b); :write_a; :write_b;
-- by column one use is meant, or the lease is named
:mark;
ROLLBACK;
BEGIN; :mark; SELECT gatepost.fence_use('a', :a); :mark; SELECT gatepost.fence_use('a', :a); SELECT gatepost.fence_use('a', :a, live => true); :mark;
SELECT DISTINCT fence = :a FROM marked;
ROLLBACK;

-- a rollback to a savepoint ends the uses since
BEGIN;
SAVEPOINT s;
SELECT gatepost.fence_use('a', :a);
:write_a;
ROLLBACK TO s;
:write_a;
SELECT gatepost.fence_use('a', :a);
RELEASE s;
:write_a;
SAVEPOINT s2;
SELECT gatepost.fence_use('b:1', :b);
SAVEPOINT s3;
:write_b;
RELEASE s3;
ROLLBACK TO s2;
:write_a;
:write_b;
COMMIT;
-- also one that a released savepoint has left to it
BEGIN;
SAVEPOINT outer_one;
SAVEPOINT inner_one;
SELECT gatepost.fence_use('a', :a);
RELEASE inner_one;
:write_a;
ROLLBACK TO outer_one;
:write_a;
COMMIT;
SELECT pg_temp.locks_left();
-- so does an exception block; a use before it goes on
CREATE FUNCTION pg_temp.in_block(a bigint, b bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answers text := '';
BEGIN
  PERFORM gatepost.fence_use('a', a);
  BEGIN
    PERFORM gatepost.fence_use('b:1', b);
    UPDATE b SET v = v + 1;
    RAISE EXCEPTION USING ERRCODE = 'ZZ000';
  EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  END;
  RETURN pg_temp.try('UPDATE a SET v = v + 1') || ', ' || pg_temp.try('UPDATE b SET v = v + 1');
END $$;
SELECT pg_temp.in_block(:a, :b);
-- also within a statement that has written already
BEGIN;
CREATE FUNCTION pg_temp.fail_when(id int, a bigint) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    PERFORM gatepost.fence_use('b:1', a);
    IF id = 2 THEN RAISE EXCEPTION USING ERRCODE = 'ZZ000'; END IF;
  EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
  END;
  RETURN id;
END $$;
SELECT pg_temp.try('INSERT INTO b SELECT 1, pg_temp.fail_when(n, $1) FROM generate_series(2, 2) n', :b);
SELECT pg_temp.try('INSERT INTO b SELECT 1, pg_temp.fail_when(n, $1) FROM generate_series(1, 1) n', :b);
ROLLBACK;

-- an own grant ends the use of the earlier token, a rollback to a savepoint before it brings it back
BEGIN;
SELECT gatepost.fence_use('a', :a);
SELECT gatepost.lease_release('a', :a);
:write_a;
SAVEPOINT s;
SELECT gatepost.lease_acquire('a', '1 h') AS later \gset
:write_a;
SELECT left(pg_temp.try('SELECT gatepost.fence_use(''a'', $1)', :a), 5);
SAVEPOINT s2;
SELECT gatepost.fence_use('a', :later);
:write_a;
ROLLBACK TO s2;
:write_a;
ROLLBACK TO s;
:write_a;
:mark;
ROLLBACK;
BEGIN;
SELECT gatepost.fence_use('a', :a);
SAVEPOINT s;
SELECT gatepost.lease_break('a') > 0;
:write_a;
RELEASE s;
:write_a;
ROLLBACK;
BEGIN; SELECT gatepost.fence_use('a', :a); :write_a; ROLLBACK;

-- use and write in one statement: too late for the fences that come before the rows
\set VERBOSITY default
BEGIN;
WITH u AS MATERIALIZED (SELECT gatepost.fence_use('a', :a)) UPDATE a SET v = 2 FROM u;
ROLLBACK;
\set VERBOSITY terse

-- outside a block a use guards nothing, and says so unless a fence has asked for it
\set VERBOSITY default
SELECT gatepost.fence_use('a', :a);
-- which the next write without a token is told, of that lease, until a token is used
UPDATE a SET v = 2;
INSERT INTO marked VALUES (1);
UPDATE b SET v = 2;
BEGIN; SELECT gatepost.fence_use('a', :a); COMMIT;
UPDATE a SET v = 2;
\set VERBOSITY terse
SELECT gatepost.fence_use(repeat('é', 100), gatepost.lease_acquire(repeat('é', 100), '1 h'));
DO $$ BEGIN PERFORM gatepost.fence_use('a', token) FROM gatepost.leases WHERE name = 'a'; UPDATE a SET v = 3; END $$;
DO $$ BEGIN PERFORM gatepost.fence_use('a', token) FROM gatepost.leases WHERE name = 'a'; END $$;
CREATE FUNCTION pg_temp.use_and_write(a bigint) RETURNS void LANGUAGE sql AS 'SELECT gatepost.fence_use(''a'', a); UPDATE a SET v = 4';
SELECT pg_temp.use_and_write(:a);
CREATE PROCEDURE pg_temp.twice(a bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gatepost.fence_use('a', a);
  UPDATE a SET v = 5;
  COMMIT;
  RAISE NOTICE '%', pg_temp.try('UPDATE a SET v = 6');
  PERFORM gatepost.fence_use('a', a);
  ROLLBACK;
  RAISE NOTICE '%', pg_temp.try('UPDATE a SET v = 7');
  PERFORM gatepost.fence_use('a', a);
  UPDATE a SET v = 8;
END $$;
CALL pg_temp.twice(:a);
SELECT v FROM a;
-- several statements in one message are a block
SELECT gatepost.fence_use('a', :a)\; UPDATE a SET v = 9;
SELECT v FROM a;

-- a cursor that is held runs its query at COMMIT, while the use lasts
CREATE FUNCTION pg_temp.write_a(n int) RETURNS int LANGUAGE sql AS 'UPDATE a SET v = n RETURNING v';
BEGIN;
SELECT gatepost.fence_use('a', :a);
DECLARE held CURSOR WITH HOLD FOR SELECT pg_temp.write_a(n) FROM generate_series(20, 21) n;
COMMIT;
FETCH ALL held;
CLOSE held;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT pg_temp.write_a(n) FROM generate_series(20, 21) n;
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT gatepost.fence_use('a', :a);
COMMIT;
:write_a;
CLOSE held;
-- a use that a cursor has made keeps the name when the cursor fails after a savepoint, and goes with the savepoint it was made in
SELECT set_config('regress.token', :'a', false) = :'a';
BEGIN;
DECLARE failing CURSOR FOR SELECT gatepost.fence_use('a', current_setting('regress.token')::bigint), 1 / (2 - n) FROM generate_series(1, 2) n;
FETCH failing;
SAVEPOINT s;
SELECT pg_temp.try('FETCH failing');
FETCH failing;
ROLLBACK TO s;
SELECT pg_temp.locks_left();
:write_a;
ROLLBACK;
BEGIN;
DECLARE later CURSOR FOR SELECT gatepost.fence_use('a', current_setting('regress.token')::bigint), n FROM generate_series(1, 2) n;
SAVEPOINT s;
FETCH later;
:write_a;
ROLLBACK TO s;
SELECT pg_temp.locks_left();
:write_a;
FETCH later;
:write_a;
ROLLBACK;
SELECT pg_temp.locks_left();
-- deferred triggers too
CREATE TABLE source (id int);
CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE a SET v = NEW.id; RETURN NULL; END';
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON source DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pass_on();
BEGIN; SELECT gatepost.fence_use('a', :a); INSERT INTO source VALUES (30); COMMIT;
BEGIN; INSERT INTO source VALUES (31); COMMIT;
SELECT v FROM a;

-- prepared transactions
BEGIN; SELECT gatepost.fence_use('a', :a); UPDATE a SET v = 40; PREPARE TRANSACTION 'gatepost';
SELECT count(*) FROM pg_prepared_xacts;
-- rolled back to before the use there is nothing to refuse, where the server prepares at all
SELECT current_setting('max_prepared_transactions') <> '0' AS can_prepare \gset
BEGIN; SAVEPOINT s; SELECT gatepost.fence_use('a', :a); ROLLBACK TO s;
\if :can_prepare
PREPARE TRANSACTION 'gatepost';
ROLLBACK PREPARED 'gatepost';
\else
ROLLBACK;
\endif

-- several that have guarded nothing are one warning
SELECT count(gatepost.fence_use(name, token)) FROM gatepost.leases WHERE name IN ('a', 'b:1') AND state = 'held';
-- one after the other, undone, they leave no memory behind
CREATE FUNCTION pg_temp.used_memory() RETURNS bigint LANGUAGE sql AS
  'SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = ''TopTransactionContext''';
CREATE FUNCTION pg_temp.use_and_undo(token bigint, rounds int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR round IN 1 .. rounds LOOP
    BEGIN
      PERFORM gatepost.fence_use(repeat('x', 1000), token);
      RAISE EXCEPTION USING ERRCODE = 'ZZ000';
    EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
    END;
  END LOOP;
END $$;
SELECT gatepost.lease_acquire(repeat('x', 1000), '1 h') AS long \gset
BEGIN;
SELECT pg_temp.used_memory() AS before \gset
SELECT pg_temp.use_and_undo(:long, 2000);
SELECT pg_temp.used_memory() - :before < 1000000;
ROLLBACK;

-- thousands of names
BEGIN;
SELECT count(gatepost.fence_use(n::text, gatepost.lease_acquire(n::text, '1 h'))) FROM generate_series(1, 3000) n;
SELECT gatepost.fence_protect('a', '{id}');
INSERT INTO a SELECT n FROM generate_series(1, 3000) n;
SELECT pg_temp.try('INSERT INTO a VALUES (3001)');
ROLLBACK;
-- exception blocks that change no use take no longer for them
CREATE FUNCTION pg_temp.fastest(rounds int) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
  began timestamptz;
  best interval := '1 h';
BEGIN
  FOR round IN 1 .. rounds LOOP
    began := clock_timestamp();
    FOR block IN 1 .. 500 LOOP
      BEGIN
      EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
      END;
    END LOOP;
    best := least(best, clock_timestamp() - began);
  END LOOP;
  RETURN best;
END $$;
BEGIN;
SELECT pg_temp.fastest(20) AS alone \gset
SELECT count(gatepost.fence_use(n::text, gatepost.lease_acquire(n::text, '1 h'))) FROM generate_series(1, 3000) n;
SELECT pg_temp.fastest(20) < 5 * :'alone'::interval;
ROLLBACK;
SELECT pg_temp.locks_left();

SELECT bool_and(gatepost.lease_release(name, token)) FROM gatepost.leases WHERE name IN ('a', 'b:1', repeat('é', 100), repeat('x', 1000));
SELECT gatepost.lease_purge('0', 'a') > 0, gatepost.lease_purge('0', 'b:1'), gatepost.lease_purge('0', 'é') > 0, gatepost.lease_purge('0', 'x') > 0;
DROP TABLE a, b, marked, source;
DROP FUNCTION pass_on;
