CREATE EXTENSION gatepost;
SELECT count(gatepost.lease_acquire(n::text, '1 microsecond')) FROM generate_series(1000001, 1001000) AS n;
SELECT count(gatepost.lease_watch(n::text)) FROM generate_series(1000001, 1000500) AS n;
VACUUM ANALYZE gatepost.lease_slots, gatepost.queue;
