-- No search_path of its own: the caller's triggers, defaults and policies run inside it.
CREATE FUNCTION gatepost.fenced_update(
    target pg_catalog.regclass,
    key pg_catalog.jsonb,
    changes pg_catalog.jsonb,
    token pg_catalog.int8,
    fence_column pg_catalog.name DEFAULT 'fence'
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fenced_update';
COMMENT ON FUNCTION gatepost.fenced_update(pg_catalog.regclass, pg_catalog.jsonb, pg_catalog.jsonb, pg_catalog.int8, pg_catalog.name) IS
    'Updates one row as the caller unless it was written with a later token; true applied, false no such row, error LG001 stale';

CREATE FUNCTION gatepost.fence_use(
    name pg_catalog.text,
    token pg_catalog.int8,
    live pg_catalog.bool DEFAULT false
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_use';
COMMENT ON FUNCTION gatepost.fence_use(pg_catalog.text, pg_catalog.int8, pg_catalog.bool) IS
    'Uses the token of a lease until the transaction ends; error LG001 when it is stale';
