-- src/ledger_layout.hpp lays structs over these rows: fixed-width NOT NULL columns first, in this order. No indexes.

-- Rows made beforehand, each overwritten in place: reason '-' is a free row, '*' the one for all the others.
CREATE TABLE gatepost.refusal_counters (
    count    pg_catalog.int8        NOT NULL,
    key      pg_catalog.int8        NOT NULL,
    last_at  pg_catalog.timestamptz NOT NULL,
    relation pg_catalog.oid         NOT NULL,
    reason   pg_catalog."char"      NOT NULL,
    name     pg_catalog.name        NOT NULL
) WITH (vacuum_truncate = false);
INSERT INTO gatepost.refusal_counters
    SELECT 0, 0, '-infinity', 0, CASE n WHEN 0 THEN '*' ELSE '-' END, ''
    FROM pg_catalog.generate_series(0, 1024) AS n;
COMMENT ON TABLE gatepost.refusal_counters IS 'Internal: refused writes, one row a relation, name and reason; a fixed number of rows, overwritten in place. See the view refusals.';
COMMENT ON COLUMN gatepost.refusal_counters.count IS 'How often it was refused';
COMMENT ON COLUMN gatepost.refusal_counters.key IS 'advisory_key of the name, 0 for none';
COMMENT ON COLUMN gatepost.refusal_counters.last_at IS 'When it was last refused';
COMMENT ON COLUMN gatepost.refusal_counters.relation IS 'The table, 0 for none';
COMMENT ON COLUMN gatepost.refusal_counters.reason IS 's stale_token, h lease_not_held, r token_required, u unknown_token, o token_of_other_lease, * the others, - a free row';
COMMENT ON COLUMN gatepost.refusal_counters.name IS 'The name, cut to what fits; the key tells names apart';

CREATE TABLE gatepost.refusal_history (
    number      pg_catalog.int8        NOT NULL,
    at          pg_catalog.timestamptz NOT NULL,
    token       pg_catalog.int8        NOT NULL,
    current     pg_catalog.int8        NOT NULL,
    address     pg_catalog.uuid        NOT NULL,
    relation    pg_catalog.oid         NOT NULL,
    role        pg_catalog.oid         NOT NULL,
    pid         pg_catalog.int4        NOT NULL,
    reason      pg_catalog."char"      NOT NULL,
    family      pg_catalog."char"      NOT NULL,
    name        pg_catalog.name        NOT NULL,
    application pg_catalog.name        NOT NULL
) WITH (vacuum_truncate = false);
INSERT INTO gatepost.refusal_history
    SELECT 0, '-infinity', 0, 0, '00000000-0000-0000-0000-000000000000', 0, 0, 0, '-', '-', '', ''
    FROM pg_catalog.generate_series(1, 1024);
COMMENT ON TABLE gatepost.refusal_history IS 'Internal: the last refused writes, a ring of rows overwritten in place. See the view history.';
COMMENT ON COLUMN gatepost.refusal_history.number IS 'Rises with each refusal; 0 for a free row';
COMMENT ON COLUMN gatepost.refusal_history.at IS 'When it was refused';
COMMENT ON COLUMN gatepost.refusal_history.token IS 'The token that was refused, 0 for none';
COMMENT ON COLUMN gatepost.refusal_history.current IS 'The token that it was compared with, 0 where none is known';
COMMENT ON COLUMN gatepost.refusal_history.address IS 'Address of the client, its 4 or 16 bytes first';
COMMENT ON COLUMN gatepost.refusal_history.relation IS 'The table, 0 for none';
COMMENT ON COLUMN gatepost.refusal_history.role IS 'The role that was refused';
COMMENT ON COLUMN gatepost.refusal_history.pid IS 'The backend that was refused';
COMMENT ON COLUMN gatepost.refusal_history.reason IS 'As in refusal_counters';
COMMENT ON COLUMN gatepost.refusal_history.family IS '4 or 6, of the address; - on a unix socket';
COMMENT ON COLUMN gatepost.refusal_history.name IS 'The name, cut to what fits';
COMMENT ON COLUMN gatepost.refusal_history.application IS 'application_name of the session';

CREATE TABLE gatepost.lease_history (
    at          pg_catalog.timestamptz NOT NULL,
    token       pg_catalog.int8        NOT NULL,
    prior       pg_catalog.int8        NOT NULL,
    role        pg_catalog.oid         NOT NULL,
    pid         pg_catalog.int4        NOT NULL,
    event       pg_catalog."char"      NOT NULL,
    name        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    owner       pg_catalog.text,
    client_addr pg_catalog.inet,
    detail      pg_catalog.text
) WITH (vacuum_truncate = false);
-- The longest row fits a page, so none needs the toast table.
ALTER TABLE gatepost.lease_history
    ALTER COLUMN name SET STORAGE PLAIN, ALTER COLUMN owner SET STORAGE PLAIN,
    ALTER COLUMN client_addr SET STORAGE PLAIN, ALTER COLUMN detail SET STORAGE PLAIN;
COMMENT ON TABLE gatepost.lease_history IS 'Internal: grants, takeovers and breaks while gatepost.history_retention is not 0. See the view history.';
COMMENT ON COLUMN gatepost.lease_history.at IS 'When it happened';
COMMENT ON COLUMN gatepost.lease_history.token IS 'The token that was granted, or that the break returned';
COMMENT ON COLUMN gatepost.lease_history.prior IS 'The token of the name before, 0 for none';
COMMENT ON COLUMN gatepost.lease_history.role IS 'The role that did it';
COMMENT ON COLUMN gatepost.lease_history.pid IS 'The backend that did it';
COMMENT ON COLUMN gatepost.lease_history.event IS 'g grant, t takeover, b break';
COMMENT ON COLUMN gatepost.lease_history.name IS 'The name of the lease';
COMMENT ON COLUMN gatepost.lease_history.owner IS 'The label of the lease that was granted or broken';
COMMENT ON COLUMN gatepost.lease_history.client_addr IS 'Address of the client that did it, NULL on a unix socket';
COMMENT ON COLUMN gatepost.lease_history.detail IS 'The reason of a break';
