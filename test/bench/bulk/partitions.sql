\if :ready = 0
SELECT token, 1 AS ready FROM job \gset
\endif
BEGIN;
SELECT gatepost.fence_use('tenant:1', :token);
UPDATE by_lease_partitions SET v = v + 1;
COMMIT;
