CREATE FUNCTION gatepost.fence_advance(
    resource pg_catalog.text,
    token pg_catalog.int8,
    issuer pg_catalog.text DEFAULT 'gatepost'
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_advance';
COMMENT ON FUNCTION gatepost.fence_advance(pg_catalog.text, pg_catalog.int8, pg_catalog.text) IS
    'Raises the mark of a resource outside the database to the token; false when a later token has been seen';

CREATE FUNCTION gatepost.fence_mark(
    resource pg_catalog.text
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_mark';
COMMENT ON FUNCTION gatepost.fence_mark(pg_catalog.text) IS
    'The highest token seen for a resource, newest state; NULL when none';

CREATE FUNCTION gatepost.fence_claim(
    resource pg_catalog.text,
    key pg_catalog.text,
    token pg_catalog.int8,
    issuer pg_catalog.text DEFAULT 'gatepost'
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_claim';
COMMENT ON FUNCTION gatepost.fence_claim(pg_catalog.text, pg_catalog.text, pg_catalog.int8, pg_catalog.text) IS
    'True once for each key of a resource, false for a repetition; error LG001 when a later token has been seen';

CREATE FUNCTION gatepost.fence_purge(
    older_than pg_catalog.interval,
    resource_prefix pg_catalog.text DEFAULT ''
) RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_purge';
COMMENT ON FUNCTION gatepost.fence_purge(pg_catalog.interval, pg_catalog.text) IS
    'Administrators: deletes claims made at least older_than ago, at most 10,000 a call; returns how many';
