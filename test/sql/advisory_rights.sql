-- Who may lock: nobody without the user list.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common
CREATE ROLE regress_gatepost_none;
CREATE ROLE regress_gatepost_user;
CREATE ROLE regress_gatepost_other;
GRANT USAGE ON SCHEMA gatepost TO regress_gatepost_user, regress_gatepost_other;
GRANT EXECUTE ON FUNCTION gatepost.advisory_xact_lock, gatepost.try_advisory_xact_lock, gatepost.advisory_lock,
  gatepost.try_advisory_lock, gatepost.advisory_unlock, gatepost.advisory_key, gatepost.advisory_known TO regress_gatepost_user;
GRANT SELECT ON gatepost.advisory_locks TO regress_gatepost_user;
-- a grant of its own for each
GRANT SELECT ON gatepost.advisory_locks TO regress_gatepost_other;
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' => '
CREATE FUNCTION pg_temp.everything(OUT call text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
  SELECT c, pg_temp.ask(c)
  FROM unnest(ARRAY['SELECT gatepost.advisory_xact_lock(''rights/a'')', 'SELECT gatepost.try_advisory_xact_lock(''rights/a'')',
                    'SELECT gatepost.advisory_lock(''rights/a'')', 'SELECT gatepost.try_advisory_lock(''rights/a'', ''1 s'')',
                    'SELECT gatepost.advisory_unlock(''rights/a'')', 'SELECT gatepost.advisory_unlock(''rights/a'')',
                    'SELECT gatepost.advisory_key(''rights/a'')', 'SELECT count(DISTINCT name) FROM gatepost.advisory_known()',
                    'SELECT count(*) FROM gatepost.advisory_locks']) WITH ORDINALITY AS u(c, n) ORDER BY n
$$;
SET ROLE regress_gatepost_none;
SELECT * FROM pg_temp.everything();
SET ROLE regress_gatepost_user;
SELECT * FROM pg_temp.everything();
SET ROLE regress_gatepost_other;
SELECT * FROM pg_temp.everything();
RESET ROLE;
\pset tuples_only off
\pset format aligned
-- no answer for somebody without rights tells whether the name is locked or leased
SELECT gatepost.lease_acquire('rights/a', '10 min') AS a \gset
SET ROLE regress_gatepost_none;
SELECT pg_temp.ask('SELECT gatepost.try_advisory_lock(''rights/a'')');
SET ROLE regress_gatepost_user;
-- the lock is the session's, whoever asked for it; the lease of another role stands in its way all the same
SELECT gatepost.try_advisory_lock('rights/a') AS leased, gatepost.try_advisory_lock('rights/b') AS free;
RESET ROLE;
SELECT gatepost.advisory_unlock('rights/b'), gatepost.lease_release('rights/a', :a);
-- a mark is no write of the caller: no right on the table is needed
SELECT gatepost.lease_acquire('rights/c', '1 ms') AS c \gset
SELECT pg_temp.wait_until('gatepost.lease_status(''rights/c'', $1) = ''lapsed''', :c);
SET ROLE regress_gatepost_user;
SELECT gatepost.try_advisory_xact_lock('rights/c');
RESET ROLE;
SELECT gatepost.lease_status('rights/c', :c);

-- nothing for PUBLIC
SELECT p.proname FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
WHERE p.pronamespace = 'gatepost'::regnamespace AND p.proname LIKE '%advisory%' AND a.grantee = 0;
SELECT c.relname FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = 'gatepost.advisory_locks'::regclass AND a.grantee = 0;
-- every one described, none for parallel workers, the key for anybody who may call it in an index or a worker
SELECT p.proname, p.provolatile, p.proparallel, p.proisstrict, obj_description(p.oid, 'pg_proc') IS NOT NULL AS described
FROM pg_proc p WHERE p.pronamespace = 'gatepost'::regnamespace AND p.proname LIKE '%advisory%' ORDER BY 1;
SELECT attname, atttypid::regtype, col_description(attrelid, attnum) IS NOT NULL AS described
FROM pg_attribute WHERE attrelid = 'gatepost.advisory_locks'::regclass AND attnum > 0 ORDER BY attnum;
SELECT gatepost.lease_purge('0', 'rights/') AS purged, pg_temp.locks_left();

DROP OWNED BY regress_gatepost_none, regress_gatepost_user, regress_gatepost_other;
DROP ROLE regress_gatepost_none, regress_gatepost_user, regress_gatepost_other;
