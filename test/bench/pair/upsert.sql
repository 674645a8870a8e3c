\set name random(1000001, 1001000)
\set token 0
INSERT INTO hand_lease AS l (name, token, expires_at, acquired_at, renewed_at, ttl, owner)
VALUES (:name, 1, now() + '30 s', now(), now(), '30 s', 'pgbench@local/12345')
ON CONFLICT (name) DO UPDATE
SET token = l.token + 1, expires_at = excluded.expires_at, acquired_at = excluded.acquired_at, owner = excluded.owner
WHERE l.expires_at < now()
RETURNING token \aset
\if :token > 0
UPDATE hand_lease SET expires_at = '-infinity' WHERE name = :name AND token = :token;
\endif
