-- The view stats: each column by what moves it. Waiters and keepers of other sessions are in t/160_doctor.pl, recovering
-- leases in instrumented/sql/doctor_recovering.sql.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
CREATE DATABASE regress_stats;
\c regress_stats
\i :common
\pset format unaligned
\pset tuples_only on

SELECT count(*) FROM gatepost.stats;
-- common.sql has drawn one token
SELECT tokens_drawn_total, leases_held, permits_held, leases_in_flight, leases_recovering, leases_lapsed, waiters, waiters_outside, keepers FROM gatepost.stats;
SELECT next_expiry_seconds, oldest_keeper_seconds, takeovers, breaks FROM gatepost.stats;
SELECT generation = gatepost.token_generation() AND counter_left BETWEEN 0 AND 536870911 FROM gatepost.stats;

SELECT gatepost.lease_acquire('stats/a', '1 h') AS a \gset
SELECT gatepost.lease_acquire('stats/b', '2 h') AS b \gset
SELECT gatepost.lease_acquire('stats/c', '1 ms') > 0;
SELECT gatepost.lease_acquire('stats/a', '1 h') IS NULL;
SELECT pg_temp.wait_until('(SELECT leases_lapsed FROM gatepost.stats) = 1');
SELECT tokens_drawn_total, leases_held, leases_lapsed, next_expiry_seconds > 3500 AND next_expiry_seconds <= 3600 FROM gatepost.stats;
SELECT counter_left AS left FROM gatepost.stats \gset
-- what is rolled back was drawn
BEGIN;
SELECT gatepost.lease_acquire('stats/d', '1 h') > 0;
SELECT leases_held, keepers, oldest_keeper_seconds > 0 FROM gatepost.stats;
ROLLBACK;
SELECT leases_held, keepers, tokens_drawn_total, :left - counter_left FROM gatepost.stats;

-- permits by their weight, and who waits outside; a watcher does not
SELECT gatepost.semaphore_acquire('stats/sem', 9, '1 h') AS light, gatepost.semaphore_acquire('stats/sem', 9, '1 h', weight => 5) AS heavy \gset
SELECT permits_held, leases_held FROM gatepost.stats;
SELECT kind, slot > 0 AS above_0, weight FROM gatepost.leases WHERE name IN ('stats/a', 'stats/sem') ORDER BY kind, weight;
SELECT gatepost.lease_release('stats/sem', :heavy) \gset
SELECT permits_held FROM gatepost.stats;
SELECT gatepost.lease_release('stats/sem', :light) \gset
SELECT count(gatepost.lease_queue(name, gen_random_uuid(), '1 h', '5 min')), count(gatepost.lease_watch(name)) FROM unnest('{stats/a,stats/a,stats/b}'::text[]) AS name;
SELECT waiters, waiters_outside FROM gatepost.stats;
SELECT count(gatepost.lease_unqueue(name, request_id)) FROM gatepost.queue WHERE arrival > 0;
SELECT waiters, waiters_outside FROM gatepost.stats;

-- takeovers and breaks, of the history
SET gatepost.history_retention = '1 h';
SELECT takeovers, breaks FROM gatepost.stats;
SELECT gatepost.lease_acquire('stats/c', '1 h') AS c \gset
SELECT gatepost.lease_break('stats/b') > 0;
SELECT gatepost.lease_release('stats/a', :a);
SELECT takeovers, breaks, tokens_drawn_total, leases_held FROM gatepost.stats;
RESET gatepost.history_retention;
SELECT takeovers, breaks FROM gatepost.stats;

-- refused writes, by reason
CREATE TABLE stats_job (id int PRIMARY KEY, fence bigint);
INSERT INTO stats_job VALUES (1, :c);
SELECT gatepost.fence_protect('stats_job', lease => 'stats/c');
SELECT left(pg_temp.try('UPDATE stats_job SET id = 1'), 5) FROM generate_series(1, 3);
SELECT gatepost.lease_acquire('stats/f', '1 h') AS f \gset
SELECT left(pg_temp.try('SELECT gatepost.fence_use(''stats/c'', $1)', t), 5)
FROM unnest(ARRAY[1, :a, 9007199254740991, 9007199254740991, 9007199254740991, 9007199254740991, :f, :f, :f, :f, :f]) AS t;
SELECT left(pg_temp.try('SELECT gatepost.fence_use(''stats/a'', $1)', :a), 5);
SELECT reason, sum(count) FROM gatepost.refusals GROUP BY reason ORDER BY reason;
SELECT refused_stale_token_total, refused_lease_not_held_total, refused_token_required_total, refused_unknown_token_total,
       refused_token_of_other_lease_total, refused_others_total FROM gatepost.stats;
SELECT sum(count) = (SELECT refused_stale_token_total + refused_lease_not_held_total + refused_token_required_total + refused_unknown_token_total
                            + refused_token_of_other_lease_total + refused_others_total FROM gatepost.stats) FROM gatepost.refusals;

-- a use keeps a name
BEGIN;
SELECT gatepost.fence_use('stats/c', :c);
SELECT keepers FROM gatepost.stats;
COMMIT;
SELECT keepers FROM gatepost.stats;
-- a session's lock keeps a name without a transaction
SELECT gatepost.advisory_lock('stats/e');
SELECT keepers FROM gatepost.stats;
SELECT gatepost.advisory_unlock('stats/e');
SELECT keepers FROM gatepost.stats;

-- tokens are counted anew when the generation is raised
SELECT gatepost.token_raise_generation() - generation FROM gatepost.stats;
SELECT tokens_drawn_total FROM gatepost.stats;
SELECT count(gatepost.token_draw()) FROM generate_series(1, 100);
SELECT tokens_drawn_total FROM gatepost.stats;
-- also over the end of a counter
SELECT setval('gatepost.token_sequence', (last_value >> 34 << 34) + (536870911::bigint << 5)) > 0 FROM gatepost.token_sequence;
SELECT counter_left, generation AS last FROM gatepost.stats \gset stats_
SELECT count(gatepost.token_draw()) FROM generate_series(1, 2);
SELECT :stats_counter_left, generation - :stats_last, 536870911 - counter_left FROM gatepost.stats;

-- it takes no locks that stay, and answers at every level and in a READ ONLY transaction
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT leases_held FROM gatepost.stats;
SELECT count(*) FROM gatepost.doctor() WHERE severity = 'error';
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT leases_held FROM gatepost.stats;
-- predicate locks only on what no call writes as a statement does
SELECT DISTINCT relation::regclass::text FROM pg_locks
WHERE mode = 'SIReadLock' AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace) ORDER BY 1;
COMMIT;
SELECT pg_temp.locks_left();

\c contrib_regression
DROP DATABASE regress_stats;
