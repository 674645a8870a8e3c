SELECT coalesce(gatepost.semaphore_acquire(:name, 1000, '30 s'), 0) AS token \gset
SELECT gatepost.lease_release(:name, :token);
