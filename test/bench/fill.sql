-- Fills lease_slots and hand_lease with the names 1000001 to 1000000 + :names, free to be taken.
SELECT count(gatepost.lease_acquire(n::text, '1 microsecond'))
FROM generate_series(1000001, 1000000 + :names) AS n;
INSERT INTO hand_lease (name, token, expires_at, acquired_at, renewed_at, ttl, owner)
SELECT n, 1, '-infinity', now(), now(), '30 s', 'pgbench@local/12345'
FROM generate_series(1000001, 1000000 + :names) AS n;
VACUUM ANALYZE gatepost.lease_slots, hand_lease;
\ir same_width.sql
