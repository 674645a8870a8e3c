CREATE EXTENSION gatepost;
\ir ../hand_lease.sql
\set names 1000
\ir ../fill.sql
SELECT 1 / count(gatepost.lease_acquire('1000500', '1 day'))::int;
UPDATE hand_lease SET expires_at = 'infinity' WHERE name = '1000500';
