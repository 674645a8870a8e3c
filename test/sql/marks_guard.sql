-- A mark never falls and a claim is not made twice, whatever a superuser's statement or a loaded dump says.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

SELECT gatepost.token_draw() AS t1 \gset
SELECT gatepost.token_draw() AS t2 \gset
SELECT gatepost.token_draw() AS t3 \gset
SELECT (:t1 & ~31::bigint) | ((:t1 + 1) & 31) AS apart \gset
SELECT gatepost.fence_claim('guard/m', 'k', :t2) AS claimed, gatepost.fence_advance('guard/any', 7, 'any') AS advanced;
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '

-- statements, by a superuser
CREATE FUNCTION pg_temp.statements(OUT command text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, pg_temp.try(c) FROM unnest(ARRAY[
    'UPDATE gatepost.marks SET token = 1',
    'UPDATE gatepost.marks SET token = token + 1',
    'UPDATE gatepost.marks SET resource = ''guard/moved''',
    'DELETE FROM gatepost.marks',
    'TRUNCATE gatepost.marks',
    'TRUNCATE gatepost.marks, gatepost.claims CASCADE',
    'MERGE INTO gatepost.marks m USING (SELECT) AS v ON m.resource = ''guard/m'' WHEN MATCHED THEN DELETE',
    'UPDATE gatepost.claims SET key = ''moved''',
    'DELETE FROM gatepost.claims',
    'TRUNCATE gatepost.claims']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
SELECT * FROM pg_temp.statements();
SET session_replication_role = replica;
SELECT command, left(answer, 5) FROM pg_temp.statements();
RESET session_replication_role;
SELECT gatepost.fence_mark('guard/m') = :t2, gatepost.fence_mark('guard/any'), gatepost.fence_claim('guard/m', 'k', :t2);

-- rows that a dump brings: new ones are stored, lower ones left out, higher ones raise
SELECT pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', $1, ''gatepost'', now())', :t1), gatepost.fence_mark('guard/m') = :t2;
SELECT pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', $1, ''gatepost'', now())', :t2), gatepost.fence_mark('guard/m') = :t2;
SELECT pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', $1, ''gatepost'', now())', :t3), gatepost.fence_mark('guard/m') = :t3;
SELECT pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', $1, ''gatepost'', now())
                    ON CONFLICT (resource) DO UPDATE SET token = excluded.token', :t1), gatepost.fence_mark('guard/m') = :t3;
SELECT pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/new'', $1, ''gatepost'', now())', :t1), gatepost.fence_mark('guard/new') = :t1;
SELECT gatepost.fence_advance('guard/m', :t2) AS stale, gatepost.fence_advance('guard/m', :t3) AS equal;
COPY gatepost.marks (resource, token, issuer, changed_at) FROM STDIN;
guard/any	6	any	2026-01-01
guard/any 2	6	any	2026-01-01
\.
SELECT gatepost.fence_mark('guard/any'), gatepost.fence_mark('guard/any 2');
SELECT pg_temp.try('INSERT INTO gatepost.claims (resource, key, token, claimed_at) VALUES (''guard/m'', ''k'', 1, now())'),
       (SELECT token = :t2 FROM gatepost.claims WHERE resource = 'guard/m');
SELECT pg_temp.try('INSERT INTO gatepost.claims (resource, key, token, claimed_at) VALUES (''guard/m'', ''loaded'', 1, now())'), gatepost.fence_claim('guard/m', 'loaded', :t3);
-- and rows that cannot be
SELECT regexp_replace(pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', $1, ''gatepost'', now())', :apart), '\d{10,}', 'N', 'g');
SELECT c, pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES ' || c) FROM unnest(ARRAY[
  '(''guard/any'', 8, ''gatepost'', now())', '(''guard/x'', 8, ''nobody'', now())', '(''guard/x'', 0, ''any'', now())', '('''', 8, ''any'', now())',
  '(repeat(''x'', 1025), 8, ''any'', now())', '(NULL, 8, ''any'', now())', '(''guard/x'', NULL, ''any'', now())', '(''guard/x'', 8, NULL, now())']) AS c;
SELECT pg_temp.try('INSERT INTO gatepost.claims (resource, key, token, claimed_at) VALUES (NULL, ''k'', 8, now())');

-- the guards are for these tables only
CREATE TABLE guard_other (resource text, token bigint, issuer text, changed_at timestamptz);
CREATE TRIGGER other BEFORE INSERT ON guard_other FOR EACH ROW EXECUTE FUNCTION gatepost.guard_marks();
SELECT pg_temp.try('INSERT INTO guard_other VALUES (''guard/m'', $1, ''gatepost'', now())', :t3);
DROP TABLE guard_other;
-- with its guard off a table takes no second row
BEGIN;
ALTER TABLE gatepost.marks DISABLE TRIGGER ALL;
SELECT left(pg_temp.try('INSERT INTO gatepost.marks (resource, token, issuer, changed_at) VALUES (''guard/m'', 1, ''gatepost'', now())'), 5);
ROLLBACK;
SELECT gatepost.fence_mark('guard/m') = :t3, gatepost.fence_purge('0', 'guard/');
