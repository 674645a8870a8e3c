-- What CREATE EXTENSION leaves behind: objects, comments, rights, persistence, indexes, settings.
\getenv srcdir PG_ABS_SRCDIR
\set common :srcdir '/common.sql'
\i :common

\pset format unaligned
\pset tuples_only on

-- the installed version is the library's, in a fixed schema, for superusers only
SELECT extversion = gatepost.library_version(), extrelocatable, extnamespace::regnamespace
FROM pg_extension WHERE extname = 'gatepost';
SELECT superuser, trusted, relocatable, schema
FROM pg_available_extension_versions WHERE name = 'gatepost' AND installed;

CREATE TEMP VIEW member AS
SELECT classid, objid FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gatepost');

-- every function: name, arguments, result
SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') -> ' || coalesce(pg_get_function_result(p.oid), 'procedure')
FROM pg_proc p JOIN member ON objid = p.oid AND classid = 'pg_proc'::regclass
ORDER BY p.proname COLLATE "C";

-- all volatile and parallel unsafe, so none is folded, moved or sent to a worker; none strict, security definer or leakproof
SELECT p.proname, p.provolatile, p.proparallel, p.proisstrict, p.prosecdef, p.proleakproof
FROM pg_proc p JOIN member ON objid = p.oid AND classid = 'pg_proc'::regclass
WHERE (p.provolatile, p.proparallel) <> ('v', 'u') OR p.proisstrict OR p.prosecdef OR p.proleakproof
ORDER BY p.proname COLLATE "C";

-- no overloads
SELECT p.proname, count(*)
FROM pg_proc p JOIN member ON objid = p.oid AND classid = 'pg_proc'::regclass
GROUP BY p.proname HAVING count(*) > 1;

-- relations: kind, permanent, in schema gatepost
SELECT c.relname, c.relkind, c.relpersistence, c.relnamespace::regnamespace
FROM pg_class c JOIN member ON objid = c.oid AND classid = 'pg_class'::regclass
ORDER BY c.relname COLLATE "C";

-- the only index of the lease table is its primary key, and pages keep head-room for renewals
SELECT pg_get_indexdef(indexrelid), indisprimary FROM pg_index
WHERE indrelid = 'gatepost.lease_slots'::regclass;
SELECT option_value::int BETWEEN 10 AND 90
FROM pg_class, pg_options_to_table(reloptions)
WHERE oid = 'gatepost.lease_slots'::regclass AND option_name = 'fillfactor';

-- toast tables and indexes are permanent too
SELECT count(*) FROM pg_class
WHERE relpersistence <> 'p'
  AND (relnamespace = 'gatepost'::regnamespace
       OR oid IN (SELECT reltoastrelid FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace));

-- the columns of the view
SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'gatepost.leases'::regclass AND attnum > 0 ORDER BY attnum;

-- the sequence counts by 32 and hands out one value at a time
SELECT format_type(seqtypid, NULL), seqincrement, seqcache, seqcycle FROM pg_sequence
WHERE seqrelid = 'gatepost.token_sequence'::regclass;

-- members without a comment (row types follow their relation)
SELECT pg_describe_object(classid, objid, 0) FROM member
WHERE obj_description(objid, (SELECT relname FROM pg_class WHERE oid = classid)) IS NULL
  AND classid <> 'pg_type'::regclass
ORDER BY 1;
SELECT obj_description(oid, 'pg_extension') IS NOT NULL FROM pg_extension WHERE extname = 'gatepost';

-- what somebody may call or read; the comments of all the rest say that it is internal
SELECT pg_describe_object(classid, objid, 0) FROM member
WHERE classid IN ('pg_proc'::regclass, 'pg_class'::regclass)
  AND obj_description(objid, (SELECT relname FROM pg_class WHERE oid = classid)) NOT LIKE 'Internal: %'
ORDER BY pg_describe_object(classid, objid, 0) COLLATE "C";

-- columns and triggers without a comment
SELECT attrelid::regclass || '.' || attname
FROM pg_attribute JOIN member ON objid = attrelid AND classid = 'pg_class'::regclass
WHERE attnum > 0 AND NOT attisdropped AND attrelid <> 'gatepost.token_sequence'::regclass
  AND col_description(attrelid, attnum) IS NULL
ORDER BY 1;
SELECT tgrelid::regclass || '.' || tgname FROM pg_trigger
WHERE tgrelid::regclass::text LIKE 'gatepost.%' AND obj_description(oid, 'pg_trigger') IS NULL
ORDER BY 1;

-- triggers fire whatever session_replication_role says
SELECT DISTINCT tgrelid::regclass::text, tgenabled FROM pg_trigger
WHERE tgrelid::regclass::text LIKE 'gatepost.%' AND NOT tgisinternal ORDER BY 1;

-- nobody but the owner is granted anything
SELECT 'function', p.proname::text, a.grantee::regrole, a.privilege_type
FROM pg_proc p JOIN member ON objid = p.oid AND classid = 'pg_proc'::regclass,
     aclexplode(coalesce(proacl, acldefault('f', proowner))) a
WHERE a.grantee <> proowner
UNION ALL
SELECT 'relation', c.relname, a.grantee::regrole, a.privilege_type
FROM pg_class c JOIN member ON objid = c.oid AND classid = 'pg_class'::regclass,
     aclexplode(coalesce(relacl, acldefault((CASE relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", relowner))) a
WHERE a.grantee <> relowner
UNION ALL
SELECT 'schema', n.nspname, a.grantee::regrole, a.privilege_type
FROM pg_namespace n, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a
WHERE n.nspname = 'gatepost' AND a.grantee <> nspowner;

-- pg_dump carries the rules, marks and claims, and the row of a table that holds none
SELECT extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'gatepost';
SELECT count(*) FROM gatepost.floor;

-- the settings, all of them: a release build has none for tests
SELECT name, context, vartype, boot_val, unit, enumvals, short_desc <> '' FROM pg_settings
WHERE name LIKE 'gatepost.%' ORDER BY name COLLATE "C";
SELECT pg_temp.try('SET gatepost.durabilty = ''local''');
SELECT pg_temp.try('SET gatepost.durability = ''remote''');
