CREATE FUNCTION gatepost.advisory_xact_lock(
    name pg_catalog.text,
    shared pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_advisory_xact_lock';
COMMENT ON FUNCTION gatepost.advisory_xact_lock(pg_catalog.text, pg_catalog.bool) IS
    'Waits for the lock of a name and holds it until the transaction ends';

CREATE FUNCTION gatepost.try_advisory_xact_lock(
    name pg_catalog.text,
    wait pg_catalog.interval DEFAULT '0',
    shared pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_try_advisory_xact_lock';
COMMENT ON FUNCTION gatepost.try_advisory_xact_lock(pg_catalog.text, pg_catalog.interval, pg_catalog.bool) IS
    'Takes the lock of a name until the transaction ends; false when it was not to be had within wait';

CREATE FUNCTION gatepost.advisory_lock(
    name pg_catalog.text,
    shared pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_advisory_lock';
COMMENT ON FUNCTION gatepost.advisory_lock(pg_catalog.text, pg_catalog.bool) IS
    'Waits for the lock of a name and holds it until advisory_unlock or the end of the session';

CREATE FUNCTION gatepost.try_advisory_lock(
    name pg_catalog.text,
    wait pg_catalog.interval DEFAULT '0',
    shared pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_try_advisory_lock';
COMMENT ON FUNCTION gatepost.try_advisory_lock(pg_catalog.text, pg_catalog.interval, pg_catalog.bool) IS
    'Takes the lock of a name until advisory_unlock or the end of the session; false when it was not to be had within wait';

CREATE FUNCTION gatepost.advisory_unlock(
    name pg_catalog.text,
    shared pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_advisory_unlock';
COMMENT ON FUNCTION gatepost.advisory_unlock(pg_catalog.text, pg_catalog.bool) IS
    'Gives one session lock of a name back, with the end of the current transaction; an error when the session holds none';

CREATE FUNCTION gatepost.advisory_key(
    name pg_catalog.text
) RETURNS pg_catalog.int8
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'gatepost_advisory_key';
COMMENT ON FUNCTION gatepost.advisory_key(pg_catalog.text) IS
    'The key of a name in pg_locks: the first 8 bytes of its SHA-256';
