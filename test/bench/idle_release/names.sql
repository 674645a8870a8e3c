-- The names 1000001 to 1001000, free, and one that is held for each client.
CREATE EXTENSION gatepost;
SELECT count(gatepost.lease_acquire(n::text, '1 microsecond')) FROM generate_series(1000001, 1001000) AS n;
CREATE TABLE held AS SELECT n AS client, 'held ' || n AS name, gatepost.lease_acquire('held ' || n, '1 day') AS token
FROM generate_series(0, 7) AS n;
VACUUM ANALYZE gatepost.lease_slots, held;
