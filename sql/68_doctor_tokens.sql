-- Tokens are generation 19 bits, counter 29, nonce 5; generations count hours since 2026, src/token_layout.hpp.
CREATE FUNCTION gatepost.doctor_history()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH change AS (
    SELECT concat_ws(', ', CASE WHEN i.system <> c.system_identifier THEN 'system identifier' END,
                     CASE WHEN i.timeline <> f.timeline THEN 'timeline' END,
                     CASE WHEN i.database <> d.oid::int8 THEN 'database' END,
                     CASE WHEN i.boot <> f.boot THEN 'boot' END) AS what
    FROM gatepost.identity AS i, pg_control_system() AS c, gatepost.doctor_facts() AS f, pg_database AS d
    WHERE d.datname = current_database() AND i.system <> 0 AND NOT pg_is_in_recovery()
), recovering AS (
    SELECT count(*) AS leases, max(remaining) AS longest FROM gatepost.lease_rows()
    WHERE state = 'recovering' AND authoritative
)
SELECT CASE leases WHEN 0 THEN 'notice' ELSE 'warning' END, 'tokens',
       format('the generation is still to be raised, since this is another %s than when it last was', what)
       || CASE leases WHEN 0 THEN '' ELSE format('; leases that are recovering until then and their ttl: %s', leases) END,
       'The next call that changes a lease does it; so does SELECT gatepost.token_draw().'
FROM change, recovering WHERE what <> ''
UNION ALL
SELECT 'notice', 'tokens',
       format('leases of another boot or server: %s; they count as live for up to %s', leases, longest),
       'Their holders renew them; whose holders are gone lapse, or are broken with gatepost.lease_break().'
FROM recovering WHERE leases > 0 AND NOT EXISTS (SELECT FROM change WHERE what <> '')
$function$;
COMMENT ON FUNCTION gatepost.doctor_history() IS 'Internal: for doctor: a change of history that no call has noticed yet, and leases that are recovering';

CREATE FUNCTION gatepost.doctor_tokens()
    RETURNS TABLE (severity pg_catalog.text, subject pg_catalog.text, detail pg_catalog.text, fix pg_catalog.text)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $function$
WITH wall AS (
    SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000000)::int8 - 1767225600000000, 0) AS us
), state AS (
    SELECT last_value AS last, last_value >> 34 AS generation, (last_value >> 5) & 536870911 AS counter,
           -- A raise begins as far up as the hour has gone.
           CASE WHEN i.first >> 34 = last_value >> 34 THEN (last_value - i.first) >> 5
                ELSE (last_value >> 5) & 536870911 END AS drawn,
           us / 3600000000 AS hours,
           ((us / 3600000000) << 34) + ((us % 3600000000 * 536870911 / 3600000000) << 5) AS fresh
    FROM gatepost.token_sequence, gatepost.identity AS i, wall WHERE is_called
)
SELECT 'notice', 'tokens',
       format('tokens are ahead of the hours: the last one is %s of generation %s, after DROP EXTENSION and CREATE EXTENSION they would begin at %s of %s',
              last, generation, fresh, hours),
       format('Keep the last token before DROP EXTENSION, and after CREATE EXTENSION: SELECT gatepost.token_raise_generation(%s);', last)
FROM state WHERE last >= fresh
UNION ALL
SELECT 'notice', 'tokens',
       format('tokens left in generation %s: %s after %s; the next generation follows by itself', generation, 536870911 - counter, drawn),
       'Nothing need be done.'
FROM state WHERE drawn > 1000000 AND drawn > 9 * (536870911 - counter)
UNION ALL
SELECT CASE WHEN generation >= 524287 THEN 'error' ELSE 'warning' END, 'tokens',
       format('generation %s of at most 524287: %s', generation,
              CASE WHEN generation >= 524287 THEN 'it cannot be raised any more' ELSE 'few raises are left' END),
       'Find out what raised it so far; leases and protected tables need a new database before the last token.'
FROM state WHERE generation > 524287 - 10000
$function$;
COMMENT ON FUNCTION gatepost.doctor_tokens() IS 'Internal: for doctor: tokens that are ahead of the hours, and counters that fill up';
