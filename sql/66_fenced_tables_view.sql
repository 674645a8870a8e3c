CREATE FUNCTION gatepost.fence_rows(
    OUT relation pg_catalog.regclass,
    OUT mode pg_catalog.text,
    OUT lease pg_catalog.text,
    OUT fence_column pg_catalog.text,
    OUT issuer pg_catalog.text,
    OUT exempt pg_catalog.text[],
    OUT guarded pg_catalog.bool,
    OUT gaps pg_catalog.text[]
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL RESTRICTED ROWS 100 AS 'MODULE_PATHNAME', 'gatepost_fence_rows';
COMMENT ON FUNCTION gatepost.fence_rows() IS 'Internal: what the view fenced_tables shows';

CREATE VIEW gatepost.fenced_tables AS
    SELECT relation, mode, lease, fence_column, issuer, exempt, guarded, gaps
    FROM gatepost.fence_rows();
COMMENT ON VIEW gatepost.fenced_tables IS 'Tables under fence_protect, and what of them is not guarded';
COMMENT ON COLUMN gatepost.fenced_tables.relation IS 'The table, partition or child';
COMMENT ON COLUMN gatepost.fenced_tables.mode IS 'lease, template or column';
COMMENT ON COLUMN gatepost.fenced_tables.lease IS 'Name or template of the lease, NULL when the transaction''s only use is meant';
COMMENT ON COLUMN gatepost.fenced_tables.fence_column IS 'Column that keeps the mark';
COMMENT ON COLUMN gatepost.fenced_tables.issuer IS 'Whose tokens the column takes: gatepost or any';
COMMENT ON COLUMN gatepost.fenced_tables.exempt IS 'Roles that write without a token';
COMMENT ON COLUMN gatepost.fenced_tables.guarded IS 'Whether nothing is missing';
COMMENT ON COLUMN gatepost.fenced_tables.gaps IS 'What is missing';
