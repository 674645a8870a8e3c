-- Knows that the row of the name is there.
\set name random(1000001, 1001000)
\set token 0
UPDATE hand_lease
SET token = token + 1, expires_at = now() + '30 s', acquired_at = now(), owner = 'pgbench@local/12345'
WHERE name = :name AND expires_at < now()
RETURNING token \aset
\if :token > 0
UPDATE hand_lease SET expires_at = '-infinity' WHERE name = :name AND token = :token;
\endif
