-- The names 1000001 to 1001000, the first of them held.
CREATE EXTENSION gatepost;
SELECT count(gatepost.lease_acquire(n::text, '1 microsecond')) FROM generate_series(1000001, 1001000) AS n;
CREATE TABLE held AS SELECT gatepost.lease_acquire('held', '1 day') AS token;
VACUUM ANALYZE gatepost.lease_slots;
