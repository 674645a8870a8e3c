\set name random(1000001, 1001000)
\set token 0
\if :leases
SELECT coalesce(gatepost.lease_acquire(:name, '30 s'), 0) AS token \gset
\if :token > 0
SELECT gatepost.lease_release(:name, :token);
\endif
\else
UPDATE hand_lease
SET token = token + 1, expires_at = now() + '30 s', acquired_at = now(), owner = 'pgbench@local/12345'
WHERE name = :name AND expires_at < now()
RETURNING token \aset
\if :token > 0
UPDATE hand_lease SET expires_at = '-infinity' WHERE name = :name AND token = :token;
\endif
\endif
