BEGIN;
SELECT gatepost.lease_release('held', token) FROM held;
ROLLBACK;
