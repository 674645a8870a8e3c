CREATE FUNCTION gatepost.rule_rows(
    OUT prefix pg_catalog.text,
    OUT member pg_catalog.text,
    OUT action pg_catalog.text,
    OUT member_exists pg_catalog.bool,
    OUT in_flight pg_catalog.bool
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_rule_rows';
COMMENT ON FUNCTION gatepost.rule_rows() IS
    'Internal: what the view rules shows: the newest state, whatever the snapshot of the caller';

CREATE VIEW gatepost.rules AS
    SELECT prefix, member, action, member_exists, in_flight FROM gatepost.rule_rows();
COMMENT ON VIEW gatepost.rules IS 'Which roles may do what with names of a prefix, newest state';
COMMENT ON COLUMN gatepost.rules.prefix IS 'Bytes that a name begins with';
COMMENT ON COLUMN gatepost.rules.member IS 'Name of a role';
COMMENT ON COLUMN gatepost.rules.action IS 'hold, see or break';
COMMENT ON COLUMN gatepost.rules.member_exists IS 'Whether there is such a role; if not, the rule matches nobody';
COMMENT ON COLUMN gatepost.rules.in_flight IS 'Another open transaction is adding or dropping it';
