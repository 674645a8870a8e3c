CREATE FUNCTION gatepost.lease_acquire_all(
    names pg_catalog.text[],
    ttl pg_catalog.interval,
    wait pg_catalog.interval DEFAULT '0',
    owner pg_catalog.text DEFAULT NULL,
    metadata pg_catalog.jsonb DEFAULT NULL,
    request_id pg_catalog.uuid DEFAULT NULL
) RETURNS pg_catalog.int8[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_acquire_all';
COMMENT ON FUNCTION gatepost.lease_acquire_all(pg_catalog.text[], pg_catalog.interval, pg_catalog.interval, pg_catalog.text, pg_catalog.jsonb, pg_catalog.uuid) IS
    'Takes the leases of all names or of none; returns their tokens in the order of names, or NULL when one is busy';

CREATE FUNCTION gatepost.lease_renew_many(
    names pg_catalog.text[],
    tokens pg_catalog.int8[],
    ttl pg_catalog.interval DEFAULT NULL
) RETURNS TABLE (name pg_catalog.text, token pg_catalog.int8, status pg_catalog.text, detail pg_catalog.text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_lease_renew_many';
COMMENT ON FUNCTION gatepost.lease_renew_many(pg_catalog.text[], pg_catalog.int8[], pg_catalog.interval) IS
    'lease_renew for many leases; returns those that are lost, in flight, or asked for by somebody';

CREATE FUNCTION gatepost.lease_release_many(
    names pg_catalog.text[],
    tokens pg_catalog.int8[]
) RETURNS TABLE (name pg_catalog.text, token pg_catalog.int8, status pg_catalog.text, detail pg_catalog.text)
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_lease_release_many';
COMMENT ON FUNCTION gatepost.lease_release_many(pg_catalog.text[], pg_catalog.int8[]) IS
    'lease_release for many leases; returns those that were not released';

CREATE FUNCTION gatepost.lease_request_yield(
    name pg_catalog.text,
    reason pg_catalog.text DEFAULT NULL
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_lease_request_yield';
COMMENT ON FUNCTION gatepost.lease_request_yield(pg_catalog.text, pg_catalog.text) IS
    'Asks the holder of a lease to give it up; false when nobody holds it';
