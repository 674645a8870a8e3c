CREATE FUNCTION gatepost.doctor_protection()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
SELECT 'error', 'protection', format('table %s is not guarded: %s', relation, array_to_string(gaps, '; ')),
       'As its owner, call gatepost.fence_protect() again as before, on it or on the table above it.'
FROM gatepost.fence_rows() WHERE NOT guarded
UNION ALL
SELECT 'error', 'protection',
       format('event trigger %I %s', evtname, CASE evtenabled WHEN 'D' THEN 'is disabled' ELSE 'does not fire always' END),
       format('ALTER EVENT TRIGGER %I ENABLE ALWAYS; then look at gatepost.fenced_tables.', evtname)
FROM pg_event_trigger AS e JOIN pg_depend AS d ON d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e'
JOIN pg_extension AS x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid AND x.extname = 'gatepost'
WHERE evtenabled <> 'A'
UNION ALL
SELECT 'error', 'protection',
       format('event trigger %s is no longer part of the extension', name), 'ALTER EXTENSION gatepost ADD EVENT TRIGGER, or create the extension anew.'
FROM unnest('{gatepost_fences_follow_ddl,gatepost_refuse_in_constraints}'::text[]) AS name
WHERE NOT EXISTS (SELECT FROM pg_event_trigger AS e JOIN pg_depend AS d
                  ON d.classid = 'pg_event_trigger'::regclass AND d.objid = e.oid AND d.deptype = 'e' WHERE e.evtname = name)
UNION ALL
SELECT 'error', 'protection', format('event_triggers is off %s: what comes to a protected table there is not guarded', place),
       'Set it to on; then look at gatepost.fenced_tables.'
FROM (SELECT 'here' AS place, setting FROM pg_settings WHERE name = 'event_triggers'
      UNION ALL
      SELECT concat_ws(' ', 'for role ' || nullif(setrole, 0)::regrole::text, 'in database ' || quote_ident(d.datname)),
             split_part(entry, '=', 2)
      FROM pg_db_role_setting LEFT JOIN pg_database AS d ON d.oid = setdatabase, unnest(setconfig) AS entry
      WHERE split_part(entry, '=', 1) = 'event_triggers' AND (setdatabase = 0 OR d.datname = current_database())) AS asked
WHERE NOT setting::bool
UNION ALL
SELECT 'error', 'protection', format('trigger %I of %s does not fire always', tgname, tgrelid::regclass),
       format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I;', tgrelid::regclass, tgname)
FROM pg_trigger JOIN pg_class AS c ON c.oid = tgrelid
WHERE c.relnamespace = 'gatepost'::regnamespace AND NOT tgisinternal AND tgenabled <> 'A'
UNION ALL
SELECT 'warning', 'protection', 'gatepost.floor has rows: a dump was loaded with triggers disabled', 'Let a call change a lease, which raises the generation above them, then TRUNCATE gatepost.floor;'
WHERE EXISTS (SELECT FROM gatepost.floor)
$function$;
COMMENT ON FUNCTION gatepost.doctor_protection() IS 'Internal: for doctor: tables whose protection has gaps, and triggers of the extension that do not fire';

CREATE FUNCTION gatepost.doctor_mark_above(target pg_catalog.regclass) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_doctor_mark_above';
COMMENT ON FUNCTION gatepost.doctor_mark_above(pg_catalog.regclass) IS
    'Internal: for doctor: the highest mark of a table protected by column that is above the last token, 0 for none; NULL when no index tells';

CREATE FUNCTION gatepost.doctor_marks()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
SELECT CASE WHEN mark IS NULL THEN 'notice' ELSE 'error' END, 'marks',
       CASE WHEN mark IS NULL THEN format('marks of table %s were not looked at: no index on %I tells the highest, or DDL is in the way', relation, fence_column)
            ELSE format('table %s has the mark %s, above every token drawn here: its row takes no writes', relation, mark) END,
       CASE WHEN mark IS NULL THEN format('CREATE INDEX ON %s (%I), or ask for its maximum yourself.', relation, fence_column)
            ELSE format('SELECT gatepost.token_raise_generation(%s);', mark) END
FROM gatepost.fence_rows(), LATERAL (SELECT gatepost.doctor_mark_above(relation) AS mark OFFSET 0) AS above
WHERE mode = 'column' AND issuer = 'gatepost' AND mark IS DISTINCT FROM 0
$function$;
COMMENT ON FUNCTION gatepost.doctor_marks() IS 'Internal: for doctor: marks in tables protected by column that are above every token drawn here';

CREATE FUNCTION gatepost.doctor_rights()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH object AS (
    SELECT 'SCHEMA gatepost' AS what, coalesce(nspacl, acldefault('n', nspowner)) AS acl
    FROM pg_namespace WHERE nspname = 'gatepost'
    UNION ALL
    SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass,
           coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
    FROM pg_class WHERE relnamespace = 'gatepost'::regnamespace AND relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT 'ROUTINE ' || oid::regprocedure, coalesce(proacl, acldefault('f', proowner))
    FROM pg_proc WHERE pronamespace = 'gatepost'::regnamespace
)
SELECT CASE WHEN privilege_type IN ('EXECUTE', 'SELECT', 'USAGE') THEN 'warning' ELSE 'error' END, 'rights',
       format('everybody has %s on %s', privilege_type, lower(split_part(what, ' ', 1)) || substr(what, position(' ' IN what))),
       format('REVOKE %s ON %s FROM PUBLIC;', privilege_type, what)
FROM object, aclexplode(acl) AS a WHERE a.grantee = 0
UNION ALL
SELECT 'warning', 'rights',
       format('the rule that lets role %I %s names with the prefix %L matches nobody: there is no such role', member, action, prefix),
       format('Create the role, or SELECT gatepost.rule_drop(%L, %L, %L);', prefix, member, action)
FROM gatepost.rule_rows() WHERE NOT member_exists
UNION ALL
SELECT 'warning', 'rights',
       format('table %s exempts role %I, which does not exist: whoever may create it can write past the fence', relation, role),
       'As its owner, call gatepost.fence_protect() again without that role.'
FROM gatepost.fence_rows(), unnest(exempt) AS role WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role)
UNION ALL
SELECT 'notice', 'rights', format('leases of roles that are gone: %s; superusers only can renew and release them', count(*)),
       'Let them lapse, or break them with gatepost.lease_break().'
FROM gatepost.lease_rows() AS l
WHERE state IN ('held', 'recovering') AND NOT EXISTS (SELECT FROM pg_roles WHERE oid = l.role)
HAVING count(*) > 0
$function$;
COMMENT ON FUNCTION gatepost.doctor_rights() IS 'Internal: for doctor: rights of PUBLIC, and rules, exemptions and leases of roles that do not exist';
