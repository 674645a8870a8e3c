INSERT INTO hand_lease AS l (name, token, expires_at, acquired_at, renewed_at, ttl, owner)
VALUES ('1000500', 1, now() + '30 s', now(), now(), '30 s', 'pgbench@local/12345')
ON CONFLICT (name) DO UPDATE
SET token = l.token + 1, expires_at = excluded.expires_at, acquired_at = excluded.acquired_at, owner = excluded.owner
WHERE l.expires_at < now()
RETURNING token;
