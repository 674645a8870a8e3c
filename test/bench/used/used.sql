-- The client has its token at hand, as a program would.
\if :ready = 0
SELECT token, 1 AS ready FROM job \gset
\endif
\set id random(1, 100000)
BEGIN;
SELECT gatepost.fence_use('job', :token);
UPDATE guarded SET v = v + 1 WHERE id = :id;
COMMIT;
