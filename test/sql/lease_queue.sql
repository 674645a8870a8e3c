-- Places of those who wait outside the server: taken, prolonged, given up, served, handed a lease; and who may do what.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

CREATE FUNCTION pg_temp.id(n int) RETURNS uuid LANGUAGE sql AS $$ SELECT ('6f1c3d3e-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;
CREATE FUNCTION pg_temp.waiting(of text) RETURNS text LANGUAGE sql AS
$$ SELECT string_agg(application_name || coalesce(' ' || pid, ''), ', ' ORDER BY place) FROM gatepost.waiters WHERE name = of $$;

-- the channel is that of the name's key
SELECT gatepost.lease_queue('queue/a', pg_temp.id(1), '1 h', '1 min', 'first') = 'gatepost_' || lpad(to_hex(gatepost.advisory_key('queue/a')), 16, '0');
SELECT gatepost.lease_queue('queue/a', pg_temp.id(2), '1 h', '1 min', 'second') IS NOT NULL;
SELECT name, pid, place, since <= clock_timestamp(), application_name FROM gatepost.waiters ORDER BY name, place;
-- asked again the place is kept, and with it what was asked first
SELECT gatepost.lease_queue('queue/a', pg_temp.id(1), '2 h', '5 min', 'again') IS NOT NULL;
SELECT pg_temp.waiting('queue/a');
SELECT count(*), max(ttl), count(DISTINCT deadline) FROM gatepost.queue;
-- a prolonged place writes nothing that others would see in flight, and needs no transaction number
BEGIN;
SELECT gatepost.lease_queue('queue/a', pg_temp.id(1), '1 h', '1 min') IS NOT NULL, pg_current_xact_id_if_assigned();
COMMIT;
-- the owner is told as of a lease
SELECT gatepost.lease_queue('queue/label', pg_temp.id(1), '1 h', '1 min') IS NOT NULL;
SELECT application_name ~ '^pg_regress/lease_queue@local/\d+$' FROM gatepost.waiters WHERE name = 'queue/label';
SELECT gatepost.lease_unqueue('queue/label', pg_temp.id(1)), gatepost.lease_unqueue('queue/label', pg_temp.id(1));

-- the lease takes the place away, for the request that has one only; a rollback brings both back
BEGIN;
SELECT gatepost.lease_acquire('queue/a', '1 h', request_id => pg_temp.id(1)) IS NOT NULL;
SELECT pg_temp.waiting('queue/a');
ROLLBACK;
SELECT pg_temp.waiting('queue/a');
SELECT gatepost.lease_acquire('queue/a', '1 h', request_id => pg_temp.id(1)) AS a \gset
SELECT pg_temp.waiting('queue/a');
-- whose request holds the lease takes no place
SELECT gatepost.lease_queue('queue/a', pg_temp.id(1), '1 h', '1 min') IS NOT NULL;
SELECT pg_temp.waiting('queue/a');
SELECT gatepost.lease_acquire('queue/a', '1 h', request_id => pg_temp.id(1)) = :a;

-- handed over: a new token, the request's, with what the request asked for
SELECT gatepost.lease_queue('queue/a', pg_temp.id(3), '3 h', '1 min', 'third', '{"why": "now"}') IS NOT NULL;
BEGIN;
SELECT gatepost.lease_transfer('queue/a', :a, pg_temp.id(3)) > :a;
SELECT gatepost.lease_status('queue/a', :a), pg_temp.waiting('queue/a');
ROLLBACK;
SELECT gatepost.lease_status('queue/a', :a), pg_temp.waiting('queue/a');
SELECT gatepost.lease_transfer('queue/a', :a, pg_temp.id(3)) AS b \gset
SELECT :b > :a, gatepost.lease_status('queue/a', :a), gatepost.lease_status('queue/a', :b), pg_temp.waiting('queue/a');
SELECT owner, ttl, metadata, remaining > '2:59' FROM gatepost.leases WHERE name = 'queue/a';
SELECT gatepost.lease_acquire('queue/a', '1 s', request_id => pg_temp.id(3)) = :b;
SELECT gatepost.lease_renew('queue/a', :a), gatepost.lease_renew('queue/a', :b);
-- the next acquire with the first token's request is refused like any other
SELECT gatepost.lease_acquire('queue/a', '1 s', request_id => pg_temp.id(1));
-- not: a superseded token, a request without a place, a lease that is over
SELECT gatepost.lease_transfer('queue/a', :a, pg_temp.id(2));
SELECT gatepost.lease_transfer('queue/a', :b, pg_temp.id(9));
SELECT gatepost.lease_release('queue/a', :b);
SELECT gatepost.lease_transfer('queue/a', :b, pg_temp.id(2));
SELECT pg_temp.ask('SELECT gatepost.lease_transfer(''queue/a'', 9007199254740991, pg_temp.id(2))') ~ '^LG004';
SELECT pg_temp.waiting('queue/a');
-- long details come along
SELECT gatepost.lease_acquire('queue/a', '1 h', request_id => pg_temp.id(2)) AS b \gset
SELECT gatepost.lease_queue('queue/a', pg_temp.id(4), '1 h', '1 min', 'fourth', jsonb_build_object('long', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 200) AS n))) IS NOT NULL;
SELECT gatepost.lease_transfer('queue/a', :b, pg_temp.id(4)) AS c \gset
SELECT owner, length(metadata ->> 'long') FROM gatepost.leases WHERE name = 'queue/a';

-- own uses of the earlier token end with it, and come back with a rollback
CREATE TABLE protected (id int);
SELECT gatepost.fence_protect('protected', lease => 'queue/a');
SELECT gatepost.lease_queue('queue/a', pg_temp.id(5), '1 h', '1 min', 'fifth') IS NOT NULL;
BEGIN;
SELECT gatepost.fence_use('queue/a', :c);
SAVEPOINT s;
SELECT gatepost.lease_transfer('queue/a', :c, pg_temp.id(5)) > :c;
SELECT pg_temp.try('INSERT INTO protected VALUES (1)') ~ '^LG003';
ROLLBACK TO s;
INSERT INTO protected VALUES (1);
COMMIT;
SELECT gatepost.lease_status('queue/a', :c), pg_temp.waiting('queue/a');
DROP TABLE protected;
-- refused in a session that holds the lock of the name
SELECT pg_temp.ask('SELECT gatepost.lease_transfer(''queue/rung'', $1, pg_temp.id(5)) FROM gatepost.advisory_lock(''queue/rung'')', :c);
SELECT gatepost.advisory_unlock('queue/rung') IS NOT NULL;

-- a request that another role has queued
CREATE ROLE regress_gatepost_outside;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_outside;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_outside;
GRANT EXECUTE ON FUNCTION pg_temp.id, pg_temp.ask TO regress_gatepost_outside;
SET ROLE regress_gatepost_outside;
SELECT pg_temp.ask('SELECT gatepost.lease_queue(''queue/a'', pg_temp.id(5), ''1 h'', ''1 min'')');
SELECT gatepost.lease_unqueue('queue/a', pg_temp.id(5));
SELECT pg_temp.ask('SELECT gatepost.lease_transfer(''queue/a'', $1, pg_temp.id(5))', :c);
SELECT gatepost.lease_queue('queue/a', pg_temp.id(6), '1 h', '1 min', 'sixth') IS NOT NULL;
RESET ROLE;
-- the same id of another role is no request of his: he takes the lease without the place
SELECT gatepost.lease_acquire('queue/b', '1 h') AS d \gset
SET ROLE regress_gatepost_outside;
SELECT gatepost.lease_queue('queue/b', pg_temp.id(7), '1 h', '1 min', 'seventh') IS NOT NULL;
RESET ROLE;
SELECT gatepost.lease_renew('queue/b', :d, '1 us');
SELECT gatepost.lease_acquire('queue/b', '1 h', request_id => pg_temp.id(7)) AS d \gset
SELECT pg_temp.waiting('queue/b');
-- handed over to another role it is that role's
SELECT gatepost.lease_transfer('queue/b', :d, pg_temp.id(7)) AS e \gset
SELECT role FROM gatepost.leases WHERE name = 'queue/b';
SET ROLE regress_gatepost_outside;
SELECT gatepost.lease_acquire('queue/b', '1 h', request_id => pg_temp.id(7)) = :e, gatepost.lease_release('queue/b', :e);
RESET ROLE;

-- watchers: no place, one a role
SELECT gatepost.lease_watch('queue/a') = gatepost.lease_watch('queue/a'), gatepost.lease_watch('queue/new') ~ '^gatepost_[0-9a-f]{16}$';
SELECT name, count(*) FROM gatepost.queue WHERE arrival < 0 GROUP BY name ORDER BY name;
SELECT pg_temp.waiting('queue/a'), count(*) FROM gatepost.waiters WHERE name = 'queue/new';
SET ROLE regress_gatepost_outside;
SELECT gatepost.lease_unwatch('queue/a');
RESET ROLE;
SELECT gatepost.lease_unwatch('queue/a'), gatepost.lease_unwatch('queue/a'), gatepost.lease_unwatch('queue/new');

-- transactions: taken back by a rollback, never prepared; as good at every isolation level
BEGIN;
SELECT gatepost.lease_queue('queue/a', pg_temp.id(8), '1 h', '1 min', 'eighth') IS NOT NULL;
SELECT pg_temp.waiting('queue/a');
ROLLBACK;
SELECT pg_temp.waiting('queue/a');
BEGIN;
SELECT gatepost.lease_queue('queue/a', pg_temp.id(8), '1 h', '1 min') IS NOT NULL;
PREPARE TRANSACTION 'queue';
BEGIN;
SELECT gatepost.lease_watch('queue/a') IS NOT NULL;
PREPARE TRANSACTION 'watch';
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT gatepost.lease_queue('queue/a', pg_temp.id(8), '1 h', '1 min', 'eighth') IS NOT NULL;
SELECT gatepost.lease_unqueue('queue/a', pg_temp.id(5)), pg_temp.waiting('queue/a');
COMMIT;
BEGIN READ ONLY;
SELECT gatepost.lease_queue('queue/a', pg_temp.id(8), '1 h', '1 min');
ROLLBACK;

-- bad input
SELECT call, pg_temp.ask('SELECT gatepost.' || call, :c) FROM unnest(ARRAY[
  'lease_queue(NULL, pg_temp.id(1), ''1 h'', ''1 min'')', 'lease_queue('''', pg_temp.id(1), ''1 h'', ''1 min'')',
  'lease_queue(''x'', NULL, ''1 h'', ''1 min'')', 'lease_queue(''x'', ''00000000-0000-0000-0000-000000000000'', ''1 h'', ''1 min'')',
  'lease_queue(''x'', pg_temp.id(1), NULL, ''1 min'')', 'lease_queue(''x'', pg_temp.id(1), ''0'', ''1 min'')',
  'lease_queue(''x'', pg_temp.id(1), ''1 h'', NULL)', 'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''0'')',
  'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''-1 s'')', 'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''5 min 1 s'')',
  'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''1 month'')', 'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''1 min'', repeat(''o'', 257))',
  'lease_queue(''x'', pg_temp.id(1), ''1 h'', ''1 min'', metadata => ''[]'')',
  'lease_unqueue(NULL, pg_temp.id(1))', 'lease_unqueue(''x'', NULL)', 'lease_unqueue(''x'', pg_temp.id(1))',
  'lease_transfer(NULL, $1, pg_temp.id(1))', 'lease_transfer(''x'', NULL, pg_temp.id(1))', 'lease_transfer(''x'', 0, pg_temp.id(1))',
  'lease_transfer(''x'', $1, NULL)', 'lease_transfer(''x'', $1, ''00000000-0000-0000-0000-000000000000'')', 'lease_transfer(''x'', $1, pg_temp.id(1))',
  'lease_watch(NULL)', 'lease_watch('''')', 'lease_unwatch(NULL)', 'lease_unwatch(''x'')']) WITH ORDINALITY AS c(call, n) ORDER BY n;
SELECT count(*) FROM gatepost.waiters WHERE name = 'x';

-- rules: who may not hold a name has no place in its queue, and who may not see it sees no owner
SELECT gatepost.rule_add('queue/', 'postgres', 'hold'), gatepost.rule_add('queue/', 'postgres', 'see') \gset
SET ROLE regress_gatepost_outside;
SELECT call, left(pg_temp.ask('SELECT gatepost.' || call), 5) FROM unnest(ARRAY[
  'lease_queue(''queue/a'', pg_temp.id(1), ''1 h'', ''1 min'')', 'lease_unqueue(''queue/a'', pg_temp.id(6))',
  'lease_transfer(''queue/a'', 1, pg_temp.id(1))', 'lease_watch(''queue/a'')', 'lease_unwatch(''queue/a'')']) AS call;
SELECT place, pid, name, owner FROM gatepost.waiter_places(gatepost.advisory_key('queue/a')) ORDER BY place;
RESET ROLE;
-- nor is it handed to him, though he has had his place before: as if he asked himself
SELECT pg_temp.ask('SELECT gatepost.lease_transfer(''queue/a'', $1, pg_temp.id(6))', :c), gatepost.lease_status('queue/a', :c);
-- who has no live lease to hand over is told nothing of it
SELECT gatepost.lease_transfer('queue/a', :b, pg_temp.id(6));
SELECT gatepost.rule_add('queue/a', 'regress_gatepost_outside', 'hold') \gset
SELECT gatepost.lease_transfer('queue/a', :c, pg_temp.id(6)) > :c;
SELECT role, owner FROM gatepost.leases WHERE name = 'queue/a';
SELECT gatepost.rule_drop('queue/a', 'regress_gatepost_outside', 'hold') \gset
SELECT gatepost.rule_drop('queue/', 'postgres', 'hold'), gatepost.rule_drop('queue/', 'postgres', 'see') \gset

SELECT count(gatepost.lease_unqueue('queue/a', pg_temp.id(n))) FROM generate_series(1, 9) AS n;
SELECT gatepost.lease_break(name) > 0 FROM gatepost.leases WHERE name LIKE 'queue/%' AND state = 'held';
SET ROLE regress_gatepost_outside;
SELECT gatepost.lease_unqueue('queue/a', pg_temp.id(6));
RESET ROLE;
SELECT gatepost.lease_purge('0', 'queue/') > 0, count(*) FROM gatepost.waiters;
DROP OWNED BY regress_gatepost_outside;
DROP ROLE regress_gatepost_outside;
