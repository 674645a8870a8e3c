-- What doctor() looks at, one function a subject. They are called as the extension's owner, who alone may look at all of
-- it; a pinned search_path stands for qualified operators. No backslashes: how they are read is a setting of the caller.

CREATE FUNCTION gatepost.doctor_facts(
    OUT timeline pg_catalog.int8,
    OUT boot pg_catalog.int8,
    OUT built_for pg_catalog.int4
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'gatepost_doctor_facts';
COMMENT ON FUNCTION gatepost.doctor_facts() IS
    'Internal: for doctor: timeline (NULL on a standby) and boot as identity would have them now, and the server version that the library was built for';

CREATE FUNCTION gatepost.doctor_durability()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH asked AS (
    SELECT 'here' AS place, name, setting FROM pg_settings WHERE name LIKE 'gatepost.durability%'
    UNION ALL
    SELECT 'in the configuration', name, setting FROM pg_file_settings WHERE applied AND name LIKE 'gatepost.durability%'
    UNION ALL
    SELECT concat_ws(' ', 'for role ' || nullif(setrole, 0)::regrole::text, 'in database ' || quote_ident(d.datname)),
           split_part(entry, '=', 1), split_part(entry, '=', 2)
    FROM pg_db_role_setting LEFT JOIN pg_database AS d ON d.oid = setdatabase, unnest(setconfig) AS entry
    WHERE entry LIKE 'gatepost.durability%' AND (setdatabase = 0 OR d.datname = current_database())
), standby AS (
    -- Who receives for logical replication or a base backup will not be promoted.
    SELECT r.application_name, r.sync_state FROM pg_stat_replication AS r
    WHERE r.state IN ('streaming', 'catchup') AND NOT EXISTS (
        SELECT FROM pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
), state AS (
    SELECT (SELECT string_agg(DISTINCT place, ', ') FROM asked WHERE setting = 'standby') AS asking,
           CASE WHEN btrim(names) = '' THEN 0
                ELSE coalesce(substring(names FROM '(?i)^[[:space:]]*(?:FIRST|ANY)?[[:space:]]*([0-9]+)[[:space:]]*[(]')::int4, 1)
           END AS needed,
           (SELECT count(*) FROM standby WHERE sync_state IN ('sync', 'quorum')) AS connected,
           (SELECT string_agg(quote_ident(application_name), ', ' ORDER BY application_name) FROM standby
            WHERE sync_state = 'async') AS async,
           (SELECT string_agg(quote_ident(application_name), ', ' ORDER BY application_name) FROM standby) AS standbys,
           EXISTS (SELECT FROM asked WHERE place = 'here' AND name = 'gatepost.durability_floor' AND setting = 'standby')
               AS floored
    FROM current_setting('synchronous_standby_names') AS names
)
SELECT 'error', 'durability',
       format('durability "standby" is asked %s, and synchronous_standby_names is empty: grants fail with LG007', asking),
       'Set synchronous_standby_names, or gatepost.durability and its floor to local.'
FROM state WHERE asking IS NOT NULL AND needed = 0 AND NOT pg_is_in_recovery()
UNION ALL
SELECT 'error', 'durability',
       format('durability "standby" is asked %s, and %s of %s synchronous standbys are connected: grants fail with LG007',
              asking, connected, needed) || coalesce('. Asynchronous: ' || async, ''),
       'Start the standbys, or name those that are connected in synchronous_standby_names.'
FROM state WHERE asking IS NOT NULL AND connected < needed AND NOT pg_is_in_recovery()
UNION ALL
SELECT 'notice', 'durability',
       format('standby %s is asynchronous: promoted, it may lack grants that were reported', async),
       'Promote a synchronous standby, or add it to synchronous_standby_names.'
FROM state WHERE asking IS NOT NULL AND needed > 0 AND connected >= needed AND async IS NOT NULL
UNION ALL
SELECT 'notice', 'durability',
       format('grants wait for no standby, and %s may lack the last of them when promoted', standbys),
       'Where that is not enough: ALTER SYSTEM SET gatepost.durability_floor = ''standby'', with synchronous_standby_names.'
FROM state WHERE asking IS NULL AND standbys IS NOT NULL AND NOT pg_is_in_recovery()
UNION ALL
SELECT 'warning', 'durability', format('%s is "local" %s, and "standby" %s', a.name, a.place, wider.place),
       'Take the setting back with ALTER ROLE or ALTER DATABASE .. RESET, or set gatepost.durability_floor.'
FROM state, asked AS a JOIN asked AS wider
    ON wider.name = a.name AND wider.setting = 'standby' AND wider.place = 'in the configuration'
WHERE a.setting = 'local' AND a.place NOT IN ('here', 'in the configuration') AND (a.name = 'gatepost.durability_floor' OR NOT floored)
UNION ALL
SELECT 'error', 'durability', 'fsync is off: a crash of the machine can lose or spoil grants that were reported, and draw their tokens again',
       'Set fsync to on.'
WHERE current_setting('fsync') = 'off'
UNION ALL
SELECT 'warning', 'durability', 'full_page_writes is off: a crash of the machine can spoil pages of leases and tokens',
       'Set full_page_writes to on, unless the file system never writes half a page.'
WHERE current_setting('full_page_writes') = 'off'
UNION ALL
SELECT 'notice', 'durability',
       format('synchronous_commit is %s: grants wait for the disk all the same, but what is written under a lease does not, and a crash may lose it',
              current_setting('synchronous_commit')),
       'Set synchronous_commit to on where that matters.'
WHERE current_setting('synchronous_commit') = 'off'
UNION ALL
SELECT 'notice', 'durability',
       format('synchronous_commit is %s: grants wait for a standby''s disk all the same, but what is written under a lease does not, and a failover may lose it',
              current_setting('synchronous_commit')),
       'Set synchronous_commit to on where that matters.'
FROM state WHERE asking IS NOT NULL AND needed > 0 AND current_setting('synchronous_commit') IN ('local', 'remote_write')
$function$;
COMMENT ON FUNCTION gatepost.doctor_durability() IS 'Internal: for doctor: whether grants are where they are asked to be';

CREATE FUNCTION gatepost.doctor_clock(clocksource pg_catalog.text, offsets pg_catalog.text)
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
SELECT 'notice', 'clock', format('the clock source of the machine is %s: reading it is slow or coarse', source),
       'Choose a better one of /sys/devices/system/clocksource/clocksource0/available_clocksource.'
FROM substring(doctor_clock.clocksource FROM '[a-z0-9_-]+') AS source
WHERE source IN ('hpet', 'acpi_pm', 'jiffies', 'refined-jiffies', 'pit')
UNION ALL
SELECT 'notice', 'clock',
       format('the server runs in a time namespace whose CLOCK_BOOTTIME is %s s off: outside it, or in another one, its leases are recovering', seconds),
       'Run all servers that may open this data directory in one time namespace.'
FROM substring(doctor_clock.offsets FROM 'boottime[[:space:]]+(-?[0-9]+)') AS seconds
WHERE seconds <> '0'
UNION ALL
SELECT 'warning', 'clock', 'the wall clock is before 2026: a new generation counts from the last one only',
       'Set the clock of the machine.'
WHERE clock_timestamp() < '2026-01-01 00:00+00'
$function$;
COMMENT ON FUNCTION gatepost.doctor_clock(pg_catalog.text, pg_catalog.text) IS
    'Internal: for doctor: the clock source of the machine, and what /proc/self/timens_offsets says';

CREATE FUNCTION gatepost.doctor_lock_table()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH taken AS (
    SELECT count(DISTINCT (locktype, database, relation, page, tuple, virtualxid, transactionid::text, classid, objid, objsubid)) AS entries,
           (SELECT format('pid %s has %s of them', pid, count(*)) FROM pg_locks WHERE NOT fastpath
            GROUP BY pid ORDER BY count(*) DESC LIMIT 1) AS most
    FROM pg_locks WHERE NOT fastpath
), room AS (
    SELECT current_setting('max_locks_per_transaction')::int8
           * (current_setting('max_connections')::int8 + current_setting('max_prepared_transactions')::int8) AS entries
)
SELECT CASE WHEN taken.entries >= 0.9 * room.entries THEN 'error' ELSE 'warning' END, 'lock table',
       format('%s of about %s entries of the shared lock table are taken, %s: when it is full, any lock of anybody fails with 53200',
              taken.entries, room.entries, most),
       'Raise max_locks_per_transaction, and lock fewer names in one transaction, or take leases.'
FROM taken, room WHERE taken.entries >= 0.7 * room.entries
$function$;
COMMENT ON FUNCTION gatepost.doctor_lock_table() IS 'Internal: for doctor: how full the shared lock table is';

CREATE FUNCTION gatepost.doctor_versions(built_for pg_catalog.int4)
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
SELECT 'warning', 'versions',
       format('the library of this session is %s, the extension in this database %s', gatepost.library_version(), extversion),
       'ALTER EXTENSION gatepost UPDATE, or connect anew after it.'
FROM pg_extension WHERE extname = 'gatepost' AND extversion <> gatepost.library_version()
UNION ALL
SELECT 'notice', 'versions', format('version %s is installed, the extension in this database is %s', a.default_version, extversion),
       'ALTER EXTENSION gatepost UPDATE.'
FROM pg_extension JOIN pg_available_extensions AS a ON a.name = extname
WHERE extname = 'gatepost' AND a.default_version <> extversion
UNION ALL
SELECT 'notice', 'versions',
       format('the library was built for server version %s.%s, and this is %s', doctor_versions.built_for / 10000,
              doctor_versions.built_for % 10000, current_setting('server_version')),
       'Bring the server to that minor version, or build the library for this one.'
WHERE current_setting('server_version_num')::int4 < doctor_versions.built_for
$function$;
COMMENT ON FUNCTION gatepost.doctor_versions(pg_catalog.int4) IS
    'Internal: for doctor: versions of library, extension and server; the argument is the server version that the library was built for';
