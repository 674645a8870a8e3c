-- No aim; shows how much of the difference any table has.
\set name random(1000001, 1000000 + :names)
INSERT INTO hand_lease AS l (name, token, expires_at, acquired_at, renewed_at, ttl, owner)
VALUES (:name, 1, now() + '1 microsecond', now(), now(), '30 s', 'pgbench@local/12345')
ON CONFLICT (name) DO UPDATE
SET token = l.token + 1, expires_at = excluded.expires_at, acquired_at = excluded.acquired_at, owner = excluded.owner
WHERE l.expires_at < now()
RETURNING token;
