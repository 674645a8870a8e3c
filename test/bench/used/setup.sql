CREATE EXTENSION gatepost;
CREATE TABLE guarded (id int PRIMARY KEY, v bigint NOT NULL) WITH (fillfactor = 60);
CREATE TABLE bare (LIKE guarded INCLUDING ALL) WITH (fillfactor = 60);
INSERT INTO guarded SELECT n, 0 FROM generate_series(1, 100000) n;
INSERT INTO bare SELECT * FROM guarded;
VACUUM ANALYZE guarded, bare;
SELECT gatepost.fence_protect('guarded', 'job');
SELECT gatepost.lease_acquire('job', '1 day');
CREATE VIEW job AS SELECT token FROM gatepost.leases WHERE name = 'job';
