CREATE FUNCTION gatepost.refusal_rows(
    OUT relation pg_catalog.regclass,
    OUT name pg_catalog.text,
    OUT reason pg_catalog.text,
    OUT count pg_catalog.int8,
    OUT last_at pg_catalog.timestamptz
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100 AS 'MODULE_PATHNAME', 'gatepost_refusal_rows';
COMMENT ON FUNCTION gatepost.refusal_rows() IS
    'Internal: what the view refusals shows: the newest state, whatever the snapshot of the caller';

CREATE VIEW gatepost.refusals AS
    SELECT relation, name, reason, count, last_at FROM gatepost.refusal_rows();
COMMENT ON VIEW gatepost.refusals IS 'How often writes were refused, one row a table, name and reason, newest state';
COMMENT ON COLUMN gatepost.refusals.relation IS 'The table, NULL where none is known';
COMMENT ON COLUMN gatepost.refusals.name IS 'Name of the lease, cut to what fits; NULL where none is known';
COMMENT ON COLUMN gatepost.refusals.reason IS 'stale_token, lease_not_held, token_required, unknown_token, token_of_other_lease; others when no row was free';
COMMENT ON COLUMN gatepost.refusals.count IS 'How often, since the extension was created or refusals_reset was called';
COMMENT ON COLUMN gatepost.refusals.last_at IS 'When it was last refused';

CREATE FUNCTION gatepost.refusals_reset() RETURNS pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'gatepost_refusals_reset';
COMMENT ON FUNCTION gatepost.refusals_reset() IS
    'Administrators: counts refusals from 0 again; returns how many rows of the view refusals are gone';

CREATE FUNCTION gatepost.history_rows(
    OUT at pg_catalog.timestamptz,
    OUT event pg_catalog.text,
    OUT name pg_catalog.text,
    OUT token pg_catalog.int8,
    OUT prior_token pg_catalog.int8,
    OUT role pg_catalog.regrole,
    OUT owner pg_catalog.text,
    OUT client_addr pg_catalog.inet,
    OUT pid pg_catalog.int4,
    OUT relation pg_catalog.regclass,
    OUT detail pg_catalog.text
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1000 AS 'MODULE_PATHNAME', 'gatepost_history_rows';
COMMENT ON FUNCTION gatepost.history_rows() IS
    'Internal: what the view history shows: the newest state, whatever the snapshot of the caller';

CREATE VIEW gatepost.history AS
    SELECT at, event, name, token, prior_token, role, owner, client_addr, pid, relation, detail
    FROM gatepost.history_rows()
    ORDER BY at, token;
COMMENT ON VIEW gatepost.history IS 'Grants, takeovers, breaks and refusals while gatepost.history_retention is not 0, in time order';
COMMENT ON COLUMN gatepost.history.at IS 'When it happened, by the wall clock';
COMMENT ON COLUMN gatepost.history.event IS 'grant, takeover, break or refusal';
COMMENT ON COLUMN gatepost.history.name IS 'Name of the lease; of a refusal cut to what fits, NULL where none is known';
COMMENT ON COLUMN gatepost.history.token IS 'The token that was granted, that the break returned, or that was refused';
COMMENT ON COLUMN gatepost.history.prior_token IS 'The token of the name before, NULL for none';
COMMENT ON COLUMN gatepost.history.role IS 'The role that did it or was refused';
COMMENT ON COLUMN gatepost.history.owner IS 'The label of the lease; of a refusal application@address/pid';
COMMENT ON COLUMN gatepost.history.client_addr IS 'Address of the client, NULL on a unix socket';
COMMENT ON COLUMN gatepost.history.pid IS 'The backend';
COMMENT ON COLUMN gatepost.history.relation IS 'The table of a refused write, NULL where none is known';
COMMENT ON COLUMN gatepost.history.detail IS 'The reason of a break or refusal';
