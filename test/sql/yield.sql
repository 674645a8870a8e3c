-- Asking the holder of a lease to give it up.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
CREATE VIEW pg_temp.asked AS SELECT name, state, yield_requested, yield_reason FROM gatepost.leases WHERE name LIKE 'yield/%' ORDER BY name;

SELECT gatepost.lease_acquire('yield/a', '1 h') AS a, gatepost.lease_acquire('yield/b', '1 h') AS b \gset
-- nobody to ask: absent, released, lapsed
SELECT gatepost.lease_acquire('yield/lapsed', '1 ms') AS lapsed, gatepost.lease_acquire('yield/released', '1 h') AS released \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''yield/lapsed'', $1) = ''lapsed''', :lapsed), gatepost.lease_release('yield/released', :released);
SELECT gatepost.lease_request_yield('yield/absent'), gatepost.lease_request_yield('yield/lapsed'), gatepost.lease_request_yield('yield/released');
SELECT * FROM pg_temp.asked;

-- asked, with and without a reason; no xid, and ROLLBACK takes nothing back
BEGIN;
SELECT gatepost.lease_request_yield('yield/a', 'a node is drained'), gatepost.lease_request_yield('yield/b'), pg_current_xact_id_if_assigned();
ROLLBACK;
SELECT * FROM pg_temp.asked WHERE state = 'held';
SELECT pg_temp.locks_left();
-- the holder is told, each time he renews, and the lease is his all the same
SELECT name, token IN (:a, :b) AS passed, status, detail FROM gatepost.lease_renew_many(ARRAY['yield/a', 'yield/b'], ARRAY[:a, :b]);
SELECT gatepost.lease_renew('yield/a', :a);
SELECT name, status, detail FROM gatepost.lease_renew_many(ARRAY['yield/a', 'yield/b'], ARRAY[:a, :b], '2 h');
-- another reason takes its place, none does too
SELECT gatepost.lease_request_yield('yield/a', repeat('r', 63)), gatepost.lease_request_yield('yield/b', 'first');
SELECT * FROM pg_temp.asked WHERE state = 'held';
SELECT gatepost.lease_request_yield('yield/a'), gatepost.lease_request_yield('yield/b', '');
SELECT * FROM pg_temp.asked WHERE state = 'held';
-- 63 bytes are not 63 characters
SELECT gatepost.lease_request_yield('yield/a', repeat('ä', 31)), pg_temp.ask($$SELECT gatepost.lease_request_yield('yield/a', repeat('ä', 32))$$);
SELECT gatepost.lease_request_yield('yield/a', 'kept');
-- in a transaction that has changed the lease itself
BEGIN;
SELECT gatepost.lease_renew('yield/b', :b), gatepost.lease_request_yield('yield/b', 'own');
COMMIT;
SELECT * FROM pg_temp.asked WHERE state = 'held';
-- a released lease is asked for no more, and the next grant begins anew
SELECT * FROM gatepost.lease_release_many(ARRAY['yield/a'], ARRAY[:a]);
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';
SELECT gatepost.lease_acquire('yield/a', '1 h') AS a2 \gset
SELECT * FROM gatepost.lease_renew_many(ARRAY['yield/a'], ARRAY[:a2]);
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';
-- so does one that takes over a lapsed lease
SELECT gatepost.lease_request_yield('yield/a'), gatepost.lease_renew('yield/a', :a2, '1 ms');
SELECT pg_temp.wait_until('gatepost.lease_status(''yield/a'', $1) = ''lapsed''', :a2);
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';
SELECT gatepost.lease_acquire('yield/a', '1 h') > :a2 AS granted;
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';

-- who may see the name may ask
CREATE ROLE yield_asker;
CREATE ROLE yield_other;
GRANT USAGE ON SCHEMA gatepost TO yield_asker, yield_other;
GRANT EXECUTE ON FUNCTION gatepost.lease_request_yield TO yield_asker, yield_other;
SELECT gatepost.rule_add('yield/', 'yield_asker', 'see');
SET ROLE yield_asker;
SELECT gatepost.lease_request_yield('yield/a', 'allowed');
SET ROLE yield_other;
SELECT gatepost.lease_request_yield('yield/a', 'forbidden');
SELECT gatepost.lease_request_yield('yield/absent');
RESET ROLE;
SELECT gatepost.rule_drop('yield/', 'yield_asker', 'see');
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';
DROP OWNED BY yield_asker, yield_other;
DROP ROLE yield_asker, yield_other;

-- bad arguments
SELECT c || ' => ' || pg_temp.ask('SELECT gatepost.' || c) FROM unnest(ARRAY[
  $$lease_request_yield(NULL)$$,
  $$lease_request_yield('')$$,
  $$lease_request_yield(repeat('x', 1025))$$,
  $$lease_request_yield('yield/a', repeat('r', 64))$$]) AS c;
BEGIN READ ONLY;
SELECT gatepost.lease_request_yield('yield/a');
ROLLBACK;
SELECT * FROM pg_temp.asked WHERE name = 'yield/a';

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'yield/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'yield/');
