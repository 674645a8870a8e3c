-- The two lists of docs/reference.md as calls; scripts/checks/docs.sh compares them. They run as whoever calls them.

-- GRANT by who has some of the rights and may not pass them on is a warning, hence the look at who asks. The text of a
-- regrole is quoted.
CREATE FUNCTION gatepost.grant_rights(role pg_catalog.regrole, rights pg_catalog.text[]) RETURNS pg_catalog.void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    granted text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'gatepost' AND pg_has_role(extowner, 'USAGE')) THEN
        RAISE insufficient_privilege USING MESSAGE = 'the lists of rights are granted by the owner of the extension only';
    END IF;
    IF role IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'role must not be null';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE oid = role) THEN
        RAISE undefined_object USING MESSAGE = format('role with oid %s does not exist', role::oid);
    END IF;
    FOREACH granted IN ARRAY rights LOOP
        EXECUTE format('GRANT %s TO %s', granted, role);
    END LOOP;
END
$function$;
COMMENT ON FUNCTION gatepost.grant_rights(pg_catalog.regrole, pg_catalog.text[]) IS
    'Internal: for grant_user and grant_administrator: grants a list of rights';

CREATE FUNCTION gatepost.grant_user(role pg_catalog.regrole) RETURNS pg_catalog.void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM gatepost.grant_rights(role, ARRAY[
        'USAGE ON SCHEMA gatepost',
        'EXECUTE ON FUNCTION'
        ' gatepost.lease_acquire, gatepost.lease_renew, gatepost.lease_release, gatepost.lease_status,'
        ' gatepost.lease_acquire_all, gatepost.lease_renew_many, gatepost.lease_release_many, gatepost.lease_request_yield,'
        ' gatepost.semaphore_acquire, gatepost.semaphore_resize, gatepost.semaphore_rows,'
        ' gatepost.advisory_xact_lock, gatepost.try_advisory_xact_lock, gatepost.advisory_lock, gatepost.try_advisory_lock,'
        ' gatepost.advisory_unlock, gatepost.advisory_key, gatepost.advisory_known,'
        ' gatepost.fence_use, gatepost.fenced_update, gatepost.fence_protect, gatepost.fence_unprotect,'
        ' gatepost.fence_by_lease, gatepost.fence_by_template, gatepost.fence_by_column, gatepost.fence_rows,'
        ' gatepost.fence_advance, gatepost.fence_mark, gatepost.fence_claim,'
        ' gatepost.token_generation, gatepost.library_version, gatepost.lease_rows,'
        ' gatepost.refusal_rows, gatepost.history_rows, gatepost.waiter_places, gatepost.queued_keys,'
        ' gatepost.lease_queue, gatepost.lease_unqueue, gatepost.lease_transfer, gatepost.lease_watch, gatepost.lease_unwatch',
        'EXECUTE ON PROCEDURE gatepost.lease_acquire_wait',
        'SELECT ON gatepost.leases, gatepost.advisory_locks, gatepost.fenced_tables, gatepost.refusals, gatepost.history,'
        ' gatepost.waiters, gatepost.semaphores']);
END
$function$;
COMMENT ON FUNCTION gatepost.grant_user(pg_catalog.regrole) IS
    'Owner of the extension: lets a role take locks and leases and write with tokens';

-- UPDATE on lease_slots is the mark of an administrator, which his functions ask for.
CREATE FUNCTION gatepost.grant_administrator(role pg_catalog.regrole) RETURNS pg_catalog.void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    PERFORM gatepost.grant_rights(role, ARRAY[
        'USAGE ON SCHEMA gatepost',
        'EXECUTE ON FUNCTION'
        ' gatepost.lease_break, gatepost.lease_purge, gatepost.fence_purge, gatepost.token_draw,'
        ' gatepost.token_raise_generation, gatepost.rule_add, gatepost.rule_drop, gatepost.rule_rows,'
        ' gatepost.refusals_reset, gatepost.doctor, gatepost.stats_row',
        'SELECT ON gatepost.rules, gatepost.stats',
        'UPDATE ON gatepost.lease_slots']);
END
$function$;
COMMENT ON FUNCTION gatepost.grant_administrator(pg_catalog.regrole) IS
    'Owner of the extension: lets a role break and purge leases, set rules, and see to tokens';
