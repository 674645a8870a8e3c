CREATE FUNCTION gatepost.waiter_places(
    key pg_catalog.int8,
    OUT place pg_catalog.int4,
    OUT pid pg_catalog.int4,
    OUT queued_at pg_catalog.timestamptz,
    OUT name pg_catalog.text,
    OUT owner pg_catalog.text
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_waiter_places';
COMMENT ON FUNCTION gatepost.waiter_places(pg_catalog.int8) IS
    'Internal: who waits for the lease with that advisory_key, in the order in which they are served';

CREATE FUNCTION gatepost.queued_keys() RETURNS SETOF pg_catalog.int8
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_queued_keys';
COMMENT ON FUNCTION gatepost.queued_keys() IS
    'Internal: advisory_key of each lease that somebody waits for outside the server, once for each who waits';

-- 18259 is the class of the waiters tag, src/locks.hpp.
CREATE VIEW gatepost.waiters AS
    SELECT COALESCE(l.name, w.name) AS name, w.pid, w.place, COALESCE(w.queued_at, a.query_start) AS since,
           COALESCE(a.application_name, w.owner) AS application_name
    FROM (SELECT (classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
                     OPERATOR(pg_catalog.|) objid::pg_catalog.int8 AS key
          FROM pg_catalog.pg_locks
          WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND objsubid OPERATOR(pg_catalog.=) 18259
            AND database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database
                                                 WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
          UNION
          SELECT q FROM gatepost.queued_keys() q
         ) k
    CROSS JOIN LATERAL gatepost.waiter_places(k.key) w
    LEFT JOIN (SELECT DISTINCT name FROM gatepost.lease_rows()) l
        ON gatepost.advisory_key(l.name) OPERATOR(pg_catalog.=) k.key
    LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) w.pid;
COMMENT ON VIEW gatepost.waiters IS 'Who waits for a lease, inside the server and outside, in the order in which they are served';
COMMENT ON COLUMN gatepost.waiters.name IS 'Name of the lease, NULL when the reader may not see it';
COMMENT ON COLUMN gatepost.waiters.pid IS 'Backend that waits, NULL for who waits outside';
COMMENT ON COLUMN gatepost.waiters.place IS '1 for the one who is served next';
COMMENT ON COLUMN gatepost.waiters.since IS 'Start of the statement that waits, or of the place outside';
COMMENT ON COLUMN gatepost.waiters.application_name IS 'Application of the backend; owner of a place outside';
