CREATE FUNCTION gatepost.fence_by_lease() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_fence_by_lease';
COMMENT ON FUNCTION gatepost.fence_by_lease() IS
    'Internal: trigger, made by fence_protect: the transaction must use the token of the lease';

CREATE FUNCTION gatepost.fence_by_template() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_fence_by_template';
COMMENT ON FUNCTION gatepost.fence_by_template() IS
    'Internal: trigger, made by fence_protect: the transaction must use the token of the lease that the row''s columns name';

CREATE FUNCTION gatepost.fence_by_column() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_fence_by_column';
COMMENT ON FUNCTION gatepost.fence_by_column() IS
    'Internal: trigger, made by fence_protect: stamps rows with the token in use, and refuses one older than the row''s';

CREATE FUNCTION gatepost.fence_protect(
    target pg_catalog.regclass,
    lease pg_catalog.text DEFAULT NULL,
    fence_column pg_catalog.name DEFAULT NULL,
    issuer pg_catalog.text DEFAULT 'gatepost',
    exempt pg_catalog.regrole[] DEFAULT '{}'
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_protect';
COMMENT ON FUNCTION gatepost.fence_protect(pg_catalog.regclass, pg_catalog.text, pg_catalog.name, pg_catalog.text, pg_catalog.regrole[]) IS
    'Protects a table of the caller''s: writers must use the token of a lease';

CREATE FUNCTION gatepost.fence_unprotect(
    target pg_catalog.regclass
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_fence_unprotect';
COMMENT ON FUNCTION gatepost.fence_unprotect(pg_catalog.regclass) IS
    'Takes the protection of a table of the caller''s away';

CREATE FUNCTION gatepost.fences_follow_ddl() RETURNS event_trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'gatepost_fences_follow_ddl';
COMMENT ON FUNCTION gatepost.fences_follow_ddl() IS
    'Internal: event trigger: protects partitions and children that come to a protected table';

CREATE EVENT TRIGGER gatepost_fences_follow_ddl ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA',
                 'CREATE TRIGGER')
    EXECUTE FUNCTION gatepost.fences_follow_ddl();
ALTER EVENT TRIGGER gatepost_fences_follow_ddl ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER gatepost_fences_follow_ddl IS 'Protects partitions and children that come to a protected table';
