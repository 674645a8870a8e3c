CREATE FUNCTION gatepost.semaphore_rows(
    OUT name pg_catalog.text,
    OUT permits pg_catalog.int8,
    OUT live pg_catalog.int8,
    OUT free pg_catalog.int8,
    OUT waiting pg_catalog.int8
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_semaphore_rows';
COMMENT ON FUNCTION gatepost.semaphore_rows() IS
    'Internal: what the view semaphores shows: the newest state, whatever the snapshot of the caller';

CREATE VIEW gatepost.semaphores AS
    SELECT name, permits, live, free, waiting FROM gatepost.semaphore_rows();
COMMENT ON VIEW gatepost.semaphores IS 'Every semaphore and its permits, newest state; the view leases has a row for each permit';
COMMENT ON COLUMN gatepost.semaphores.name IS 'Name of the semaphore';
COMMENT ON COLUMN gatepost.semaphores.permits IS 'How many there are';
COMMENT ON COLUMN gatepost.semaphores.live IS 'How many are live or in flight; more than permits after a resize, until holders have gone';
COMMENT ON COLUMN gatepost.semaphores.free IS 'How many can be had';
COMMENT ON COLUMN gatepost.semaphores.waiting IS 'Sessions that wait for permits';
