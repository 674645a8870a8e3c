CREATE EXTENSION gatepost;
CREATE TABLE work (id bigint PRIMARY KEY, v text NOT NULL, fence bigint) WITH (fillfactor = 60);
INSERT INTO work SELECT n, 'twenty bytes of text', NULL FROM generate_series(1, 1000) AS n;
CREATE TABLE token AS SELECT gatepost.token_draw() AS token;
VACUUM ANALYZE work;
