-- Sessions whose transaction keeps a name from others. 18257, 18258 and 18261 are classes of src/locks.hpp; who has
-- changed a lease keeps ROW EXCLUSIVE on lease_slots.
CREATE FUNCTION gatepost.doctor_keepers(
    OUT pid pg_catalog.int4,
    OUT uses pg_catalog.int8,
    OUT locks pg_catalog.int8,
    OUT marks pg_catalog.int8,
    OUT in_flight pg_catalog.bool
) RETURNS SETOF pg_catalog.record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp AS $function$
SELECT pid,
       count(*) FILTER (WHERE objsubid IN (18257, 18258) AND mode = 'RowExclusiveLock'),
       count(*) FILTER (WHERE objsubid = 18257 AND mode <> 'RowExclusiveLock'),
       count(*) FILTER (WHERE objsubid = 18261),
       bool_or(locktype = 'relation')
FROM pg_locks
WHERE granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (locktype = 'advisory' AND objsubid IN (18257, 18258, 18261)
       OR locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = 'gatepost.lease_slots'::regclass)
GROUP BY pid
$function$;
COMMENT ON FUNCTION gatepost.doctor_keepers() IS
    'Internal: for doctor and stats: sessions that keep names by tokens in use, advisory locks, marks, or leases that they are changing';

CREATE FUNCTION gatepost.doctor_transactions(patience pg_catalog.interval)
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
SELECT 'warning', 'transactions',
       format('pid %s (%s) has been idle in its transaction for %s s, and keeps names: %s', pid,
              concat_ws(', ', 'role ' || quote_ident(a.usename), 'application ' || quote_ident(nullif(a.application_name, ''))),
              floor(extract(epoch FROM clock_timestamp() - a.state_change)),
              concat_ws(', ', 'tokens in use: ' || nullif(uses, 0), 'advisory locks: ' || nullif(locks, 0),
                        'marks: ' || nullif(marks, 0), CASE WHEN in_flight THEN 'leases in flight' END)),
       format('End its transaction, or SELECT pg_terminate_backend(%s). idle_in_transaction_session_timeout does it by itself.', pid)
FROM gatepost.doctor_keepers() JOIN pg_stat_activity AS a USING (pid)
WHERE a.state LIKE 'idle in transaction%' AND clock_timestamp() - a.state_change >= doctor_transactions.patience
UNION ALL
SELECT 'notice', 'transactions', 'idle_in_transaction_session_timeout is 0: an idle open transaction keeps its names without end',
       'Set it to less than what others can wait for a name.'
WHERE current_setting('idle_in_transaction_session_timeout') = '0' AND NOT pg_is_in_recovery()
UNION ALL
SELECT 'notice', 'transactions', 'track_activities is off: idle transactions that keep names are not seen', 'Set track_activities to on.'
WHERE current_setting('track_activities') = 'off'
$function$;
COMMENT ON FUNCTION gatepost.doctor_transactions(pg_catalog.interval) IS
    'Internal: for doctor: transactions that have been idle for so long and keep names';

CREATE FUNCTION gatepost.doctor_snapshots()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH holder AS (
    SELECT 'pid ' || pid AS who, backend_xmin AS xmin, format('End it, or SELECT pg_terminate_backend(%s).', pid) AS fix
    FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
    UNION ALL
    SELECT 'replication slot ' || quote_ident(slot_name), xmin, format('Let its standby catch up, or SELECT pg_drop_replication_slot(%L).', slot_name)
    FROM pg_replication_slots WHERE xmin IS NOT NULL
    UNION ALL
    SELECT 'prepared transaction ' || quote_literal(gid), transaction, format('COMMIT PREPARED %L, or ROLLBACK PREPARED %1$L.', gid)
    FROM pg_prepared_xacts WHERE database = current_database()
), versions AS (
    SELECT pg_stat_get_dead_tuples(oid) AS dead, pg_stat_get_live_tuples(oid) AS live
    FROM pg_class WHERE oid = 'gatepost.lease_slots'::regclass
)
SELECT 'warning', 'snapshots',
       format('%s keeps a snapshot that is %s transactions old, and lease_slots has %s dead versions of %s rows', who, age(xmin), dead, live),
       fix || ' Calls go on, slower.'
FROM versions, (SELECT * FROM holder ORDER BY age(xmin) DESC LIMIT 1) AS oldest
WHERE dead > 1000 + 10 * live AND age(xmin) > 1000
$function$;
COMMENT ON FUNCTION gatepost.doctor_snapshots() IS 'Internal: for doctor: the oldest snapshot, when it holds back the cleanup of lease_slots';
