BEGIN;
SELECT gatepost.lease_release(name, token) FROM held WHERE client = :client_id;
ROLLBACK;
