\set name random(1000001, 1000500)
SELECT coalesce(gatepost.lease_acquire(:name, '30 s'), 0) AS token \gset
\if :token > 0
SELECT gatepost.lease_release(:name, :token);
\endif
