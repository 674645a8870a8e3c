-- The key of a name: the first 8 bytes of the SHA-256 of its UTF-8 form, as a signed number.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

-- published, so that other programs can find a lock in pg_locks
SELECT name, gatepost.advisory_key(name) AS key, to_hex(gatepost.advisory_key(name)) AS hex
FROM unnest(ARRAY['a', 'A', 'order:17', 'deploy', 'nightly report', 'é', 'ß', 'Größe', '名前', '🔑', 'job-13649', 'job-237535',
                  'job-21501', 'job-200918']) AS name;
-- é from two characters is another name
SELECT gatepost.advisory_key(U&'\00e9') = gatepost.advisory_key(U&'e\0301') AS same;

-- against the server's own sha256
CREATE FUNCTION pg_temp.key(name text) RETURNS bigint LANGUAGE sql AS $$
  SELECT ('x' || encode(substr(sha256(convert_to(name, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$$;
CREATE TEMP TABLE names AS
SELECT n, CASE n % 4 WHEN 0 THEN 'job-' || n WHEN 1 THEN md5(n::text) WHEN 2 THEN repeat(chr(8364 + n % 100), n % 300 + 1) || n
       ELSE n::text END AS name
FROM generate_series(1, 20000) AS n;
SELECT count(*) FILTER (WHERE gatepost.advisory_key(name) <> pg_temp.key(name)) AS different,
       count(DISTINCT gatepost.advisory_key(name)) AS keys, max(octet_length(name)) AS longest,
       count(*) FILTER (WHERE gatepost.advisory_key(name) < 0) BETWEEN 9000 AND 11000 AS half_with_top_bit
FROM names;

-- names that 32-bit hashes take for the same do not: each is locked and unlocked by itself
SELECT hashtext('job-13649') = hashtext('job-237535') AS first_pair, hashtext('job-21501') = hashtext('job-200918') AS second_pair;
SELECT gatepost.advisory_lock('job-13649'), gatepost.advisory_lock('job-21501');
SELECT pg_temp.try('SELECT gatepost.advisory_unlock(''job-237535'')');
SELECT pg_temp.try('SELECT gatepost.advisory_unlock(''job-200918'')');
SELECT gatepost.lease_acquire('job-237535', '10 min') IS NOT NULL AS free, gatepost.lease_acquire('job-200918', '10 min') IS NOT NULL AS free;
SELECT gatepost.advisory_unlock('job-13649'), gatepost.advisory_unlock('job-21501');
SELECT count(gatepost.lease_break(name)) FROM unnest(ARRAY['job-237535', 'job-200918']) AS name;

-- every name can be locked and unlocked, whatever the bits of its key; in pieces that the lock table has room for
DO $$
BEGIN
  FOR piece IN 0 .. 19 LOOP
    PERFORM gatepost.advisory_lock(name) FROM names WHERE n % 20 = piece;
    PERFORM gatepost.advisory_unlock(name) FROM names WHERE n % 20 = piece;
    COMMIT;
  END LOOP;
END $$;
SELECT pg_temp.locks_left();
SELECT count(*) FILTER (WHERE gatepost.try_advisory_xact_lock(name)) AS locked FROM names WHERE n % 20 = 7;

-- a row of pg_locks leads back to its name, also where the top bit of the key or of its lower half is set
SELECT gatepost.advisory_lock(name) FROM unnest(ARRAY['a', 'deploy', 'order:17', 'é', '🔑']) AS name;
SELECT n.name, l.classid::bigint << 32 | l.objid::bigint = gatepost.advisory_key(n.name) AS key,
       l.classid::bigint >= 2147483648 AS top_bit, l.objid::bigint >= 2147483648 AS lower_top_bit, l.objsubid, l.mode, v.name = n.name AS view
FROM unnest(ARRAY['a', 'deploy', 'order:17', 'é', '🔑']) WITH ORDINALITY AS n(name, n)
LEFT JOIN pg_locks l ON l.locktype = 'advisory' AND l.pid = pg_backend_pid()
  AND l.classid::bigint = gatepost.advisory_key(n.name) >> 32 & 4294967295 AND l.objid::bigint = gatepost.advisory_key(n.name) & 4294967295
LEFT JOIN gatepost.advisory_locks v ON v.key = gatepost.advisory_key(n.name)
ORDER BY n;
SELECT gatepost.advisory_unlock(name) FROM unnest(ARRAY['a', 'deploy', 'order:17', 'é', '🔑']) AS name;
SELECT pg_temp.locks_left();

-- the same key in a database of another encoding
CREATE DATABASE regress_gatepost_latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
\c regress_gatepost_latin1
SET client_min_messages = warning;
CREATE EXTENSION gatepost;
SET client_encoding = 'UTF8';
SELECT name, octet_length(name) AS bytes, gatepost.advisory_key(name) AS key FROM unnest(ARRAY['a', 'é', 'ß', 'Größe']) AS name;
SELECT gatepost.advisory_lock('Größe');
SELECT name, key = gatepost.advisory_key('Größe') AS key, mode, scope FROM gatepost.advisory_locks;
SELECT gatepost.advisory_unlock('Größe');
\c contrib_regression
DROP DATABASE regress_gatepost_latin1;
SELECT gatepost.lease_purge('0', 'job-') AS purged;
