-- A look that fails says so in its place, and the others go on.
CREATE FUNCTION gatepost.doctor_findings()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    look text;
    rank text;
    looks CONSTANT text[] := ARRAY[
        'doctor_durability()', 'doctor_protection()', 'doctor_marks()', 'doctor_transactions(''5 s'')', 'doctor_snapshots()',
        'doctor_lock_table()', 'doctor_history()', 'doctor_tokens()',
        'doctor_clock(pg_read_file(''/sys/devices/system/clocksource/clocksource0/current_clocksource'', 0, 4096, true),'
            ' pg_read_file(''/proc/self/timens_offsets'', 0, 4096, true))',
        'doctor_versions((SELECT built_for FROM gatepost.doctor_facts()))', 'doctor_rights()'];
    found text[] := '{}';
    answer record;
BEGIN
    FOREACH look IN ARRAY looks LOOP
        BEGIN
            FOR answer IN EXECUTE 'SELECT * FROM gatepost.' || look LOOP
                found := found || ARRAY[answer.severity, answer.subject, answer.detail, answer.fix];
            END LOOP;
        EXCEPTION WHEN OTHERS THEN
            found := found || ARRAY[CASE SQLSTATE WHEN '42501' THEN 'notice' WHEN '55000' THEN 'error' ELSE 'warning' END,
                replace(substring(look FROM 'doctor_([a-z_]+)'), '_', ' '), 'not looked at: ' || SQLERRM,
                CASE SQLSTATE WHEN '42501' THEN 'It is for the owner of the extension to look, who should be a superuser.'
                              ELSE 'See docs/errors.md for ' || SQLSTATE || '.' END];
        END;
    END LOOP;
    FOREACH rank IN ARRAY '{error,warning,notice}'::text[] LOOP
        FOR i IN 0 .. cardinality(found) / 4 - 1 LOOP
            IF found[i * 4 + 1] = rank THEN
                severity := rank;
                subject := found[i * 4 + 2];
                detail := found[i * 4 + 3];
                fix := found[i * 4 + 4];
                RETURN NEXT;
            END IF;
        END LOOP;
    END LOOP;
END
$function$;
COMMENT ON FUNCTION gatepost.doctor_findings() IS 'Internal: for doctor: what all looks found, with the rights of the caller';

CREATE FUNCTION gatepost.doctor()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_doctor';
COMMENT ON FUNCTION gatepost.doctor() IS
    'Members of pg_monitor and administrators: what is wrong or will be (error, warning, notice), why, and what mends it';
