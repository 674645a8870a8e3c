-- Names of 1 to 1,024 bytes are compared by their bytes: never cut, folded, trimmed or hashed together.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- two names that differ after the 63rd byte are two leases
SELECT gatepost.lease_acquire(repeat('a', 63) || '1', '10 min') AS one,
       gatepost.lease_acquire(repeat('a', 63) || '2', '10 min') AS two \gset
SELECT :one < :two AS both_granted;
SELECT gatepost.lease_release(repeat('a', 63) || '1', :one);
SELECT gatepost.lease_status(repeat('a', 63) || '2', :two);

-- lengths in bytes, up to the limit and over it
SELECT bytes, pg_temp.ask(format('SELECT gatepost.lease_acquire(repeat(''b'', %s), ''10 min'') > 0', bytes))
FROM (VALUES (1), (63), (64), (255), (1023), (1024), (1025), (8000)) AS v(bytes);
SELECT octet_length(name) FROM gatepost.leases WHERE name LIKE 'b%' ORDER BY 1;

-- characters of four bytes: the limit is in bytes
SELECT characters, octet_length(repeat('🔑', characters)) AS bytes,
       pg_temp.ask(format('SELECT gatepost.lease_acquire(repeat(''🔑'', %s), ''10 min'') > 0', characters))
FROM (VALUES (1), (17), (18), (256), (257)) AS v(characters);
-- 70 bytes that a cut at 63 would end inside a character
SELECT gatepost.lease_acquire(repeat('🔑', 17) || 'xy', '10 min') > 0 AS granted,
       gatepost.lease_acquire(repeat('🔑', 17) || 'xz', '10 min') > 0 AS granted;

-- names that 32-bit hashes take for the same
SELECT hashtext('job-13649') = hashtext('job-237535') AS first_pair, hashtext('job-21501') = hashtext('job-200918') AS second_pair;
SELECT gatepost.lease_acquire('job-13649', '10 min') AS a1, gatepost.lease_acquire('job-237535', '10 min') AS a2,
       gatepost.lease_acquire('job-21501', '10 min') AS b1, gatepost.lease_acquire('job-200918', '10 min') AS b2 \gset
SELECT :a1 < :a2 AND :a2 < :b1 AND :b1 < :b2 AS all_granted;
SELECT gatepost.lease_release('job-13649', :a1), gatepost.lease_renew('job-237535', :a2),
       gatepost.lease_release('job-21501', :b1), gatepost.lease_renew('job-200918', :b2);
SELECT gatepost.lease_acquire('job-13649', '10 min') > :b2 AS free_again, gatepost.lease_acquire('job-237535', '10 min') AS held;

-- case, spaces, composed and decomposed letters, quotes, patterns, control characters: all different
CREATE TEMP TABLE names (name text);
INSERT INTO names VALUES ('c'), ('C'), ('c '), (' c'), ('c  '), (E'c\n'), (E'c\t'), ('c%'), ('c_'), ('c\'), ('c'''), ('''c'),
  ('c"'), ('c$1'), ('c;'), (E'c\x01'), (E'c\x7f'), ('é'), ('é'), ('ß'), ('ss'), ('ǆ'), ('ǅ'), ('c.c'), ('c/c');
SELECT count(*), count(DISTINCT convert_to(name, getdatabaseencoding())) AS different FROM names;
ALTER TABLE names ADD token bigint;
UPDATE names SET token = gatepost.lease_acquire(name, '10 min');
SELECT count(token) AS granted, count(DISTINCT token) AS different FROM names;
SELECT count(*) FROM names JOIN gatepost.leases USING (name, token) WHERE state = 'held';
SELECT bool_and(gatepost.lease_renew(name, token)) AS renewed, bool_and(gatepost.lease_acquire(name, '10 min') IS NULL) AS held
FROM names;
SELECT bool_and(gatepost.lease_release(name, token)) AS released FROM names;

-- the collation of the argument does not matter
SELECT gatepost.lease_acquire('k' COLLATE "C", '10 min') AS k \gset
SELECT gatepost.lease_acquire('k' COLLATE "default", '10 min') AS held, gatepost.lease_acquire('K' COLLATE "POSIX", '10 min') > :k AS other;

-- other types are taken through their text: cut by the caller's own cast, never by the call
SELECT gatepost.lease_acquire('v'::varchar(3), '10 min') AS v \gset
SELECT gatepost.lease_renew('v'::name, :v), gatepost.lease_renew('v'::varchar, :v), gatepost.lease_release('v'::text, :v);

SELECT count(gatepost.lease_break(name)) > 0 AS cleaned FROM gatepost.leases WHERE state = 'held';
SELECT gatepost.lease_purge('0') > 0 AS purged;
SELECT pg_temp.locks_left();
