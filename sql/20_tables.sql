-- src/slot_layout.hpp lays structs over these rows: fixed-width NOT NULL columns first, in this order.
CREATE TABLE gatepost.lease_slots (
    token       pg_catalog.int8        NOT NULL,
    prior       pg_catalog.int8        NOT NULL,
    deadline    pg_catalog.int8        NOT NULL,
    ttl         pg_catalog.int8        NOT NULL,
    boot        pg_catalog.int8        NOT NULL,
    acquired_at pg_catalog.timestamptz NOT NULL,
    renewed_at  pg_catalog.timestamptz NOT NULL,
    role        pg_catalog.oid         NOT NULL,
    pid         pg_catalog.int4        NOT NULL,
    slot        pg_catalog.int4        NOT NULL,
    weight      pg_catalog.int4        NOT NULL,
    request_id  pg_catalog.uuid        NOT NULL,
    kind        pg_catalog."char"      NOT NULL,
    state       pg_catalog."char"      NOT NULL,
    superseded  pg_catalog.bool        NOT NULL,
    yield_asked pg_catalog.bool        NOT NULL,
    yield_reason pg_catalog.name       NOT NULL,
    name        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    owner       pg_catalog.text,
    client_addr pg_catalog.inet,
    metadata    pg_catalog.jsonb,
    PRIMARY KEY (name, slot)
-- Truncation by VACUUM gives way to those who queue for its lock, and calls do not queue.
) WITH (fillfactor = 60, vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- A renewal moves these columns nowhere; names up to 1,024 bytes stay in the row.
ALTER TABLE gatepost.lease_slots ALTER COLUMN name SET STORAGE PLAIN;

COMMENT ON TABLE gatepost.lease_slots IS 'Internal: one row a lease (slot 0) or permit; read and written by the functions of gatepost only. See the view leases.';
COMMENT ON COLUMN gatepost.lease_slots.token IS 'The highest token ever granted for this name and slot';
COMMENT ON COLUMN gatepost.lease_slots.prior IS 'The token that lease_break took away, 0 otherwise';
COMMENT ON COLUMN gatepost.lease_slots.deadline IS 'When the lease lapses: CLOCK_BOOTTIME of the boot in column boot, microseconds';
COMMENT ON COLUMN gatepost.lease_slots.ttl IS 'Time to live of the grant or last renewal, microseconds';
COMMENT ON COLUMN gatepost.lease_slots.boot IS 'Fingerprint of the boot and time namespace that the deadline belongs to';
COMMENT ON COLUMN gatepost.lease_slots.acquired_at IS 'Wall clock of the grant, for people';
COMMENT ON COLUMN gatepost.lease_slots.renewed_at IS 'Wall clock of the grant or last renewal, for people';
COMMENT ON COLUMN gatepost.lease_slots.role IS 'The role that acquired';
COMMENT ON COLUMN gatepost.lease_slots.pid IS 'The backend that acquired';
COMMENT ON COLUMN gatepost.lease_slots.slot IS '0 for a lease, the number of the permit for a semaphore';
COMMENT ON COLUMN gatepost.lease_slots.weight IS 'Permits held; 1 for a lease';
COMMENT ON COLUMN gatepost.lease_slots.request_id IS 'The request_id of the acquire, all zero for none';
COMMENT ON COLUMN gatepost.lease_slots.kind IS 'l lease, s limit of a semaphore, p permit';
COMMENT ON COLUMN gatepost.lease_slots.state IS 'h held (until the deadline), r released, b broken';
COMMENT ON COLUMN gatepost.lease_slots.superseded IS 'An advisory lock has taken the name since the lease or permit lapsed, or other permits have taken its weight; set in place';
COMMENT ON COLUMN gatepost.lease_slots.yield_asked IS 'Somebody asks the holder to give the lease up; set in place';
COMMENT ON COLUMN gatepost.lease_slots.yield_reason IS 'Why, empty for no reason given; set in place';
COMMENT ON COLUMN gatepost.lease_slots.name IS 'The name, compared by bytes';
COMMENT ON COLUMN gatepost.lease_slots.owner IS 'A label for people, never a credential';
COMMENT ON COLUMN gatepost.lease_slots.client_addr IS 'Address of the client that acquired, NULL on a unix socket';
COMMENT ON COLUMN gatepost.lease_slots.metadata IS 'What the holder wished to say';

-- One row, overwritten in place; the first changing call raises the generation, since nothing matches zeros.
CREATE TABLE gatepost.identity (
    system   pg_catalog.int8 NOT NULL,
    timeline pg_catalog.int8 NOT NULL,
    database pg_catalog.int8 NOT NULL,
    boot     pg_catalog.int8 NOT NULL,
    since    pg_catalog.int8 NOT NULL,
    first    pg_catalog.int8 NOT NULL
);
INSERT INTO gatepost.identity VALUES (0, 0, 0, 0, 0, 0);
COMMENT ON TABLE gatepost.identity IS 'Internal: which history the current generation of tokens belongs to; one row, overwritten in place';
COMMENT ON COLUMN gatepost.identity.system IS 'System identifier of the cluster';
COMMENT ON COLUMN gatepost.identity.timeline IS 'Timeline of the write-ahead log';
COMMENT ON COLUMN gatepost.identity.database IS 'Oid of the database';
COMMENT ON COLUMN gatepost.identity.boot IS 'Fingerprint of the boot in which the generation was last raised';
COMMENT ON COLUMN gatepost.identity.since IS 'CLOCK_BOOTTIME from which leases of other boots count their ttl, microseconds';
COMMENT ON COLUMN gatepost.identity.first IS 'The token from which the generation counts';

CREATE SEQUENCE gatepost.token_sequence AS pg_catalog.int8
    INCREMENT BY 32 MINVALUE 1 MAXVALUE 9007199254740991 START WITH 1 CACHE 1 NO CYCLE;
COMMENT ON SEQUENCE gatepost.token_sequence IS 'Internal: the last token drawn: generation 19 bits, counter 29 bits, nonce 5 bits';

-- Always empty. Its one row in a dump is the last token drawn; loading that row raises the generation above it.
CREATE TABLE gatepost.floor (
    token pg_catalog.int8 NOT NULL
);
COMMENT ON TABLE gatepost.floor IS 'Internal: always empty: carries the last token through pg_dump, so that tokens go on rising after a restore';
COMMENT ON COLUMN gatepost.floor.token IS 'The last token drawn where the dump was made';
SELECT pg_catalog.pg_extension_config_dump('gatepost.floor',
    'WHERE false UNION ALL SELECT last_value FROM gatepost.token_sequence');
