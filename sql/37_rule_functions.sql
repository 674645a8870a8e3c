CREATE FUNCTION gatepost.rule_add(
    prefix pg_catalog.text,
    member pg_catalog.regrole,
    action pg_catalog.text
) RETURNS pg_catalog.void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_rule_add';
COMMENT ON FUNCTION gatepost.rule_add(pg_catalog.text, pg_catalog.regrole, pg_catalog.text) IS
    'Administrators: lets members of a role hold, see or break names of a prefix, and shuts them to others';

CREATE FUNCTION gatepost.rule_drop(
    prefix pg_catalog.text,
    member pg_catalog.text,
    action pg_catalog.text
) RETURNS pg_catalog.bool
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_rule_drop';
COMMENT ON FUNCTION gatepost.rule_drop(pg_catalog.text, pg_catalog.text, pg_catalog.text) IS
    'Administrators: takes a rule back, by the name of a role that may be gone; false when there is none';
