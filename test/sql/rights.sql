-- Who may do what: nobody, a user, an administrator, a role with EXECUTE on everything, a stranger to a lease.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

CREATE ROLE regress_gatepost_none;
CREATE ROLE regress_gatepost_user;
CREATE ROLE regress_gatepost_other;
CREATE ROLE regress_gatepost_admin;
CREATE ROLE regress_gatepost_all;
CREATE ROLE regress_gatepost_member;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_user, regress_gatepost_other, regress_gatepost_admin, regress_gatepost_all, regress_gatepost_member;
-- the user list
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire, gatepost.lease_renew, gatepost.lease_release, gatepost.lease_status,
  gatepost.lease_rows, gatepost.fenced_update, gatepost.token_generation, gatepost.library_version
  TO regress_gatepost_user, regress_gatepost_other, regress_gatepost_member;
GRANT SELECT ON gatepost.leases TO regress_gatepost_user, regress_gatepost_other, regress_gatepost_member;
-- the administrator list, and its functions without it
GRANT EXECUTE ON FUNCTION gatepost.lease_break, gatepost.lease_purge, gatepost.token_draw, gatepost.token_raise_generation TO regress_gatepost_admin;
GRANT UPDATE ON gatepost.lease_slots TO regress_gatepost_admin;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO regress_gatepost_all;

\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
-- every function, with $1 a token; only what may be answered is shown of an answer
CREATE FUNCTION pg_temp.everything(token bigint, OUT call text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, CASE WHEN a ~ '^[0-9]+(\.[0-9.]+)?$' THEN 'a number' ELSE a END
  FROM unnest(ARRAY['lease_acquire(''rights/b'', ''10 min'')', 'lease_renew(''rights/a'', $1)', 'lease_release(''rights/c'', $1)',
                    'lease_status(''rights/a'', $1)', 'token_generation()', 'library_version()',
                    'lease_break(''rights/b'')', 'lease_purge(''0'', ''rights/none'')', 'token_draw()', 'token_raise_generation()'])
       WITH ORDINALITY AS u(c, n), pg_temp.ask('SELECT gatepost.' || c, token) AS a ORDER BY n
$$;

SET ROLE regress_gatepost_user;
SELECT gatepost.lease_acquire('rights/a', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000003') AS a \gset
SELECT role, state FROM gatepost.leases WHERE name = 'rights/a';
\echo -- nobody
SET ROLE regress_gatepost_none;
SELECT * FROM pg_temp.everything(:a);
SELECT pg_temp.ask('SELECT count(*) FROM gatepost.leases');
\echo -- a user
SET ROLE regress_gatepost_user;
SELECT * FROM pg_temp.everything(:a);
SELECT pg_temp.ask('SELECT count(*) > 0 FROM gatepost.leases');
\echo -- EXECUTE on everything, without the administrator list
SET ROLE regress_gatepost_all;
SELECT * FROM pg_temp.everything(:a);
\echo -- an administrator
SET ROLE regress_gatepost_admin;
SELECT * FROM pg_temp.everything(:a);
RESET ROLE;
\pset format aligned
\pset tuples_only off

-- tables and sequence are closed to all of them; the marker lets an administrator change no row
CREATE FUNCTION pg_temp.direct() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT c || ' => ' || left(pg_temp.try(c), 5) FROM unnest(ARRAY['SELECT FROM gatepost.lease_slots', 'SELECT FROM gatepost.identity',
    'INSERT INTO gatepost.lease_slots DEFAULT VALUES', 'DELETE FROM gatepost.lease_slots', 'UPDATE gatepost.lease_slots SET name = name',
    'TRUNCATE gatepost.lease_slots', 'UPDATE gatepost.leases SET token = 1', 'INSERT INTO gatepost.floor DEFAULT VALUES',
    'SELECT nextval(''gatepost.token_sequence'')', 'SELECT setval(''gatepost.token_sequence'', 1)',
    'SELECT last_value FROM gatepost.token_sequence', 'DROP TABLE gatepost.lease_slots', 'CREATE TABLE gatepost.mine ()']) AS c
$$;
SET ROLE regress_gatepost_user;
SELECT * FROM pg_temp.direct();
SET ROLE regress_gatepost_admin;
SELECT * FROM pg_temp.direct() AS d WHERE d NOT LIKE '%=> 42501';
RESET ROLE;

-- a lease belongs to the role that took it
SET ROLE regress_gatepost_other;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''rights/a'', $1)', :a);
SELECT pg_temp.ask('SELECT gatepost.lease_release(''rights/a'', $1)', :a);
SELECT gatepost.lease_acquire('rights/a', '10 min') AS held;
-- the request id of another role is no way in
SELECT gatepost.lease_acquire('rights/a', '10 min', request_id => '6f1c3d3e-0000-4000-8000-000000000003') AS held;
-- a role that only guesses
SELECT answer, count(*) FROM (
  SELECT left(pg_temp.ask('SELECT gatepost.lease_release(''rights/a'', $1)', guess), 5) AS answer
  FROM (SELECT generate_series(1, 1000) AS guess UNION ALL SELECT :a + d FROM generate_series(-500, 0) AS d) AS g) AS a
GROUP BY answer ORDER BY answer;
RESET ROLE;
SELECT gatepost.lease_status('rights/a', :a);

-- SET ROLE and membership: the lease is manageable by members of its role
GRANT regress_gatepost_user TO regress_gatepost_member;
SET ROLE regress_gatepost_member;
SELECT gatepost.lease_renew('rights/a', :a), gatepost.lease_release('rights/a', :a);
SELECT gatepost.lease_acquire('rights/a', '10 min') AS a2 \gset
SET ROLE regress_gatepost_user;
SELECT pg_temp.ask('SELECT gatepost.lease_renew(''rights/a'', $1)', :a2);
-- a superuser is a member of every role
RESET ROLE;
SELECT gatepost.lease_renew('rights/a', :a2);
REVOKE regress_gatepost_user FROM regress_gatepost_member;
SET ROLE regress_gatepost_member;
SELECT gatepost.lease_renew('rights/a', :a2), gatepost.lease_release('rights/a', :a2);
RESET ROLE;
SET SESSION AUTHORIZATION regress_gatepost_user;
SELECT gatepost.lease_acquire('rights/a', '10 min') AS a3 \gset
RESET SESSION AUTHORIZATION;
SELECT role FROM gatepost.leases WHERE name = 'rights/a';

-- a SECURITY DEFINER wrapper owns the leases it takes: whoever calls it needs the wrapper to end them
CREATE FUNCTION rights_take(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT gatepost.lease_acquire(name, '10 min') $$;
CREATE FUNCTION rights_end(name text, token bigint) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$ SELECT gatepost.lease_release(name, token) $$;
ALTER FUNCTION rights_take OWNER TO regress_gatepost_other;
ALTER FUNCTION rights_end OWNER TO regress_gatepost_other;
SET ROLE regress_gatepost_none;
SELECT rights_take('rights/d') AS d \gset
SELECT left(pg_temp.ask('SELECT gatepost.lease_release(''rights/d'', $1)', :d), 5) AS direct, rights_end('rights/a', 7) AS stale;
SELECT pg_temp.ask('SELECT rights_end(''rights/a'', $1)', :a3);
RESET ROLE;
SELECT role FROM gatepost.leases WHERE name = 'rights/d';
SET ROLE regress_gatepost_none;
SELECT rights_end('rights/d', :d);
RESET ROLE;

-- an administrator may break anybody's lease; a role that is gone leaves its leases to superusers and administrators
SET ROLE regress_gatepost_admin;
SELECT gatepost.lease_break('rights/a', :a3) > :a3 AS broken;
RESET ROLE;
CREATE ROLE regress_gatepost_gone;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_gone;
GRANT EXECUTE ON FUNCTION gatepost.lease_acquire TO regress_gatepost_gone;
SET ROLE regress_gatepost_gone;
SELECT gatepost.lease_acquire('rights/gone', '10 min') AS gone \gset
RESET ROLE;
DROP OWNED BY regress_gatepost_gone;
DROP ROLE regress_gatepost_gone;
SELECT count(*) FROM gatepost.leases WHERE name = 'rights/gone' AND state = 'held';
SET ROLE regress_gatepost_user;
SELECT left(pg_temp.ask('SELECT gatepost.lease_release(''rights/gone'', $1)', :gone), 5);
SELECT gatepost.lease_acquire('rights/gone', '10 min') AS held;
SET ROLE regress_gatepost_admin;
SELECT gatepost.lease_break('rights/gone') > :gone AS broken;
RESET ROLE;

-- where the server guards against planted functions, nothing is taken
CREATE FUNCTION rights_planted(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN gatepost.lease_acquire('rights/planted', '10 min'); END $$;
CREATE MATERIALIZED VIEW rights_matview AS SELECT rights_planted('x') AS token WITH NO DATA;
SELECT pg_temp.try('REFRESH MATERIALIZED VIEW rights_matview');
CREATE TABLE rights_indexed (v text);
INSERT INTO rights_indexed VALUES ('a');
SELECT pg_temp.try('CREATE INDEX ON rights_indexed (rights_planted(v))');
SELECT count(*) FROM gatepost.leases WHERE name = 'rights/planted';

-- rights are looked at before anything else is said about the name
REVOKE EXECUTE ON FUNCTION gatepost.lease_status FROM regress_gatepost_other;
SET ROLE regress_gatepost_other;
SELECT left(pg_temp.ask('SELECT gatepost.lease_status(NULL, NULL)'), 5);
RESET ROLE;
SET ROLE regress_gatepost_all;
SELECT left(pg_temp.ask('SELECT gatepost.lease_break(NULL)'), 5), left(pg_temp.ask('SELECT gatepost.lease_purge(NULL)'), 5),
       left(pg_temp.ask('SELECT gatepost.token_raise_generation(-1)'), 5);
RESET ROLE;
SELECT pg_temp.locks_left();

SELECT count(gatepost.lease_break(name)) FROM gatepost.leases WHERE name LIKE 'rights/%' AND state = 'held';
SELECT gatepost.lease_purge('0', 'rights/') > 0 AS purged;
DROP MATERIALIZED VIEW rights_matview;
DROP TABLE rights_indexed;
DROP FUNCTION rights_take, rights_end, rights_planted;
DROP OWNED BY regress_gatepost_none, regress_gatepost_user, regress_gatepost_other, regress_gatepost_admin, regress_gatepost_all, regress_gatepost_member;
DROP ROLE regress_gatepost_none, regress_gatepost_user, regress_gatepost_other, regress_gatepost_admin, regress_gatepost_all, regress_gatepost_member;
