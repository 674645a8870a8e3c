CREATE EXTENSION gatepost;
CREATE TABLE held AS
  SELECT name, gatepost.lease_acquire(name, '1 day') AS token FROM (SELECT (1000000 + n)::text AS name FROM generate_series(1, 10000) AS n) AS names;
CREATE TABLE batch AS SELECT array_agg(name) AS names, array_agg(token) AS tokens FROM held;
SELECT gatepost.lease_acquire('single/' || client, '1 day') FROM generate_series(0, 7) AS client;
CREATE VIEW own AS SELECT name, token FROM gatepost.leases;
-- Rows of the same width, one column of which is written.
CREATE TABLE bare WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000) AS
  SELECT token, prior, deadline, ttl, boot, acquired_at, renewed_at, yield_reason, name, owner FROM gatepost.lease_slots WHERE name ~ '^1';
CREATE UNIQUE INDEX ON bare (name);
VACUUM ANALYZE gatepost.lease_slots, held, batch, bare;
