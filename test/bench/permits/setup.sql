CREATE EXTENSION gatepost;
-- Every slot has a row.
SELECT count(gatepost.semaphore_acquire('none', 1000, '1 d')) FROM generate_series(1, 1000);
SELECT gatepost.lease_break('none');
SELECT count(gatepost.semaphore_acquire('full', 1000, '1 d')) FROM generate_series(1, 999);
