\if :ready = 0
SELECT token, 1 AS ready FROM own WHERE name = 'single/' || :client_id \gset
\endif
SELECT gatepost.lease_renew('single/' || :client_id, :token);
