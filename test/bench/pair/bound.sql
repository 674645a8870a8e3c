-- The least that a durable grant and a release need not to wait for can cost: two one-row updates, two commits, one flush.
\set name random(1000001, 1001000)
UPDATE bound SET token = token + 1 WHERE name = :name RETURNING token \gset
UPDATE bound SET state = 'r' WHERE name = :name RETURNING set_config('synchronous_commit', 'off', true);
