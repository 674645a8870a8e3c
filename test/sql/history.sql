-- The history: off by default, then grants, takeovers, breaks and refusals, as long as they are kept.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE TABLE history_rows (id int PRIMARY KEY, v text, fence bigint);
CREATE VIEW pg_temp.told AS
  SELECT event, name, token IS NOT NULL AS token, prior_token < token AS prior, role = current_user::regrole AS own,
         replace(owner, pg_backend_pid()::text, 'PID') AS owner,
         pid = pg_backend_pid() AS here, relation, regexp_replace(detail, '[0-9]+', 'N') AS detail
  FROM gatepost.history;

-- off: nothing is kept
SHOW gatepost.history_retention;
SELECT gatepost.lease_acquire('history/off', '1 h') AS off \gset
SELECT gatepost.lease_break('history/off') > 0 AS broken;
SELECT count(*) FROM gatepost.history;

SET gatepost.history_retention = '1 h';
SELECT gatepost.lease_acquire('history/a', '1 h', owner => 'first') AS a \gset
-- refused, renewed, released: no lines
SELECT gatepost.lease_acquire('history/a', '1 h') AS busy, gatepost.lease_renew('history/a', :a), gatepost.lease_release('history/a', :a);
SELECT gatepost.lease_acquire('history/a', '1 ms', owner => 'second') AS b \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''history/a'', $1) = ''lapsed''', :b);
SELECT gatepost.lease_acquire('history/a', '1 h', owner => 'third') AS c \gset
SELECT gatepost.lease_break('history/a', reason => 'worker hangs') > :c AS broken;
SELECT gatepost.lease_acquire('history/a', '1 ms', owner => 'fourth', metadata => '{"x": 1}') AS d \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''history/a'', $1) = ''lapsed''', :d);
-- a lapsed lease that a rung has superseded
BEGIN;
SELECT gatepost.try_advisory_xact_lock('history/a');
COMMIT;
SELECT gatepost.lease_status('history/a', :d);
SELECT gatepost.lease_acquire('history/a', '1 h', owner => 'fifth') AS e \gset
INSERT INTO history_rows VALUES (1, 'fifth', :e);
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''history_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :d), 5);
SELECT * FROM pg_temp.told;
SELECT count(*) FROM gatepost.history WHERE at NOT BETWEEN now() - interval '1 min' AND clock_timestamp() OR (client_addr IS NULL) <> (inet_client_addr() IS NULL);
SELECT array_agg(token ORDER BY at, token) = ARRAY[:a, :b, :c, :e] AS tokens FROM gatepost.history WHERE event IN ('grant', 'takeover') AND owner <> 'fourth';
SELECT replace(detail, :'e', 'E'), token = :d AS refused, owner = current_setting('application_name') || '@' || coalesce(host(inet_client_addr()), 'local') || '/' || pg_backend_pid() AS labelled
FROM gatepost.history WHERE event = 'refusal';
-- the default label, and a repeated request, which is the first one's grant
SELECT gatepost.lease_acquire('history/b', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000f001') AS b \gset
SELECT gatepost.lease_acquire('history/b', '1 h', request_id => '6f1c3d3e-0000-4000-8000-00000000f001') = :b AS same;
SELECT h.event, h.owner = l.owner AS same FROM gatepost.history h JOIN gatepost.leases l USING (name, token) WHERE name = 'history/b';

-- what is rolled back has not happened; a refusal has
SELECT count(*) AS before FROM gatepost.history \gset
BEGIN;
SELECT gatepost.lease_acquire('history/undone', '1 h') > 0 AS granted;
SELECT gatepost.lease_break('history/undone') > 0 AS broken;
SELECT event FROM gatepost.history WHERE name = 'history/undone';
SAVEPOINT s;
SELECT gatepost.lease_acquire('history/undone/too', '1 h') > 0 AS granted;
ROLLBACK TO s;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''history_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :d), 5);
ROLLBACK;
SELECT event, name FROM gatepost.history OFFSET :before;

-- names and labels of any length and kind
SELECT gatepost.lease_acquire(repeat('ä', 512), '1 h', owner => repeat('o', 256)) > 0 AS granted;
SELECT gatepost.lease_break(repeat('ä', 512), reason => repeat('r', 1024)) > 0 AS broken;
SELECT event, name = repeat('ä', 512) AS name, owner = repeat('o', 256) AS owner, detail = repeat('r', 1024) AS detail
FROM gatepost.history ORDER BY at DESC, token DESC LIMIT 2;
SELECT gatepost.lease_purge('0', 'ä') AS purged;

-- newest state and no conflicts, at every level
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) AS before FROM gatepost.history \gset
SELECT gatepost.lease_acquire('history/serializable', '1 h') > 0 AS granted;
SELECT count(*) - :before AS more, (SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND relation::regclass::text LIKE 'gatepost.%') AS predicate_locks
FROM gatepost.history;
COMMIT;

-- a changed layout
BEGIN;
CREATE INDEX ON gatepost.lease_history (at);
SELECT left(pg_temp.ask('SELECT gatepost.lease_acquire(''history/layout'', ''1 h'')'), 5);
ROLLBACK;
BEGIN;
ALTER TABLE gatepost.refusal_history ADD more int;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''history_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :d), 5);
ROLLBACK;
VACUUM FULL gatepost.lease_history;
VACUUM FULL gatepost.refusal_history;
SELECT gatepost.lease_acquire('history/layout', '1 h') > 0 AS granted;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''history_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :d), 5);
SELECT event, name FROM gatepost.history ORDER BY at DESC LIMIT 2;

-- what is older than the retention goes with later grants, a little at a time
SELECT count(gatepost.lease_acquire('history/old/' || n, '1 h')) FROM generate_series(1, 100) AS n;
SET gatepost.history_retention = '1 s';
SELECT pg_temp.wait_until('clock_timestamp() > max(at) + interval ''1.1 s'' FROM gatepost.history');
SELECT count(*) > 100 AS kept FROM gatepost.history;
SELECT count(gatepost.lease_acquire('history/new/' || n, '1 h')) FROM generate_series(1, 300) AS n;
SELECT count(*) FROM gatepost.history WHERE event <> 'refusal' AND name NOT LIKE 'history/new/%';
-- and all of it with a purge; of refusals with one of all names
SELECT count(*) > 0 AS kept FROM gatepost.history WHERE event = 'refusal';
SELECT pg_temp.wait_until('clock_timestamp() > max(at) + interval ''1.1 s'' FROM gatepost.history');
-- (where the machine stood still among the new ones, the first of them have gone with the last)
SELECT count(*) AS others FROM gatepost.history WHERE name LIKE 'history/new/%' AND name NOT LIKE 'history/new/1%' \gset
SELECT gatepost.lease_purge('1 h', 'history/new/1') AS purged;
SELECT count(*) > 50 AS kept, count(*) = :others AS others_only FROM gatepost.history WHERE name LIKE 'history/new/%';
SELECT gatepost.lease_purge('1 h') AS purged;
SELECT count(*) FROM gatepost.history;
-- switched off, what is there stays until a purge that asks for it
SET gatepost.history_retention = '1 h';
SELECT gatepost.lease_acquire('history/last', '1 h') > 0 AS granted;
SELECT left(pg_temp.ask('SELECT gatepost.fenced_update(''history_rows'', ''{"id": 1}'', ''{"v": "stale"}'', $1)', :d), 5);
RESET gatepost.history_retention;
SELECT gatepost.lease_purge('1 h') AS purged;
SELECT event, name FROM gatepost.history;
BEGIN;
SELECT gatepost.lease_purge('0', 'history/la') AS purged;
ROLLBACK;
SELECT event, name FROM gatepost.history;
SELECT gatepost.lease_purge('0', 'history/la') AS purged;
SELECT event, name FROM gatepost.history;

-- rights
CREATE ROLE regress_gatepost_history;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_history;
SET ROLE regress_gatepost_history;
SELECT left(pg_temp.ask('SELECT count(*) FROM gatepost.history'), 5), left(pg_temp.ask('SELECT count(*) FROM gatepost.lease_history'), 5),
       left(pg_temp.try('SET gatepost.history_retention = 1'), 5), left(pg_temp.try('SET gatepost.log_refusals = off'), 5);
RESET ROLE;
DROP OWNED BY regress_gatepost_history;
DROP ROLE regress_gatepost_history;

SELECT count(gatepost.lease_break(name)) > 0 AS broken FROM gatepost.leases WHERE name LIKE 'history/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'history/') > 0 AS purged, gatepost.lease_purge('0') >= 0 AS ring;
SELECT gatepost.refusals_reset() > 0 AS reset;
SELECT pg_temp.locks_left();
DROP TABLE history_rows;
