CREATE EXTENSION gatepost;
-- Every second name has been a lease: the look finds a row there, and none for the others.
SELECT count(gatepost.lease_release((1000000 + 2 * n)::text, gatepost.lease_acquire((1000000 + 2 * n)::text, '1 h')))
FROM generate_series(1, 500) AS n;
VACUUM ANALYZE gatepost.lease_slots;
