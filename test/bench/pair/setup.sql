CREATE EXTENSION gatepost;
\ir ../hand_lease.sql
\set names 1000
\ir ../fill.sql
CREATE TABLE bound (LIKE hand_lease INCLUDING ALL)
WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
INSERT INTO bound SELECT * FROM hand_lease;
VACUUM ANALYZE bound;
