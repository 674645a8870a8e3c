-- src/queue_layout.hpp lays a struct over these rows: fixed-width NOT NULL columns first, in this order. Not dumped:
-- a place lasts minutes, of one boot, and is before and behind sessions of this server.
CREATE TABLE gatepost.queue (
    key         pg_catalog.int8        NOT NULL,
    arrival     pg_catalog.int8        NOT NULL,
    deadline    pg_catalog.int8        NOT NULL,
    boot        pg_catalog.int8        NOT NULL,
    ttl         pg_catalog.int8        NOT NULL,
    queued_at   pg_catalog.timestamptz NOT NULL,
    role        pg_catalog.oid         NOT NULL,
    pid         pg_catalog.int4        NOT NULL,
    request_id  pg_catalog.uuid        NOT NULL,
    name        pg_catalog.text        COLLATE pg_catalog."C" NOT NULL,
    before      pg_catalog.int8[]      NOT NULL,
    owner       pg_catalog.text,
    client_addr pg_catalog.inet,
    metadata    pg_catalog.jsonb,
    PRIMARY KEY (key, arrival)
-- Truncation by VACUUM gives way to those who queue for its lock, and calls do not queue.
) WITH (vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- What decides the order is read inside a mutex, so it stays in the row.
ALTER TABLE gatepost.queue ALTER COLUMN name SET STORAGE PLAIN;
ALTER TABLE gatepost.queue ALTER COLUMN before SET STORAGE PLAIN;

COMMENT ON TABLE gatepost.queue IS 'Internal: who waits for a lease outside the server, and who is told when one becomes free; read and written by the functions of gatepost only. See the view waiters.';
COMMENT ON COLUMN gatepost.queue.key IS 'advisory_key of the name';
COMMENT ON COLUMN gatepost.queue.arrival IS 'Order of arrival within the name; negative for a watcher';
COMMENT ON COLUMN gatepost.queue.deadline IS 'Until when the row counts: CLOCK_BOOTTIME of the boot in column boot, microseconds';
COMMENT ON COLUMN gatepost.queue.boot IS 'Fingerprint of the boot and time namespace that the deadline belongs to';
COMMENT ON COLUMN gatepost.queue.ttl IS 'Time to live that lease_transfer grants, microseconds; 0 for a watcher';
COMMENT ON COLUMN gatepost.queue.queued_at IS 'Wall clock of the first call, for people';
COMMENT ON COLUMN gatepost.queue.role IS 'The role that queued';
COMMENT ON COLUMN gatepost.queue.pid IS 'The backend that queued, for people';
COMMENT ON COLUMN gatepost.queue.request_id IS 'The request, all zero for a watcher';
COMMENT ON COLUMN gatepost.queue.name IS 'The name, compared by bytes';
COMMENT ON COLUMN gatepost.queue.before IS 'Virtual transactions of the sessions that waited inside the server already';
COMMENT ON COLUMN gatepost.queue.owner IS 'A label for people, never a credential';
COMMENT ON COLUMN gatepost.queue.client_addr IS 'Address of the client that queued, NULL on a unix socket';
COMMENT ON COLUMN gatepost.queue.metadata IS 'What the request wished to say';
