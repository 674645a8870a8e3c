CREATE FUNCTION gatepost.semaphore_acquire(
    name pg_catalog.text,
    permits pg_catalog.int4,
    ttl pg_catalog.interval,
    wait pg_catalog.interval DEFAULT '0',
    weight pg_catalog.int4 DEFAULT 1,
    owner pg_catalog.text DEFAULT NULL,
    metadata pg_catalog.jsonb DEFAULT NULL,
    request_id pg_catalog.uuid DEFAULT NULL
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_semaphore_acquire';
COMMENT ON FUNCTION gatepost.semaphore_acquire(pg_catalog.text, pg_catalog.int4, pg_catalog.interval, pg_catalog.interval, pg_catalog.int4, pg_catalog.text, pg_catalog.jsonb, pg_catalog.uuid) IS
    'Takes weight of the permits of a semaphore for ttl; returns one fencing token, or NULL when so many are not free';

CREATE FUNCTION gatepost.semaphore_resize(
    name pg_catalog.text,
    permits pg_catalog.int4
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_semaphore_resize';
COMMENT ON FUNCTION gatepost.semaphore_resize(pg_catalog.text, pg_catalog.int4) IS
    'Changes the number of permits of a semaphore; holders keep theirs. False when it is that number already';
