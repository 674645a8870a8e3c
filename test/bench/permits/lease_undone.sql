BEGIN;
SELECT coalesce(gatepost.lease_acquire('lease', '30 s'), 0) AS token \gset
SELECT gatepost.lease_release('lease', :token);
ROLLBACK;
