CREATE FUNCTION gatepost.waiter_pids(
    key pg_catalog.int8,
    OUT place pg_catalog.int4,
    OUT pid pg_catalog.int4
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'gatepost_waiter_pids';
COMMENT ON FUNCTION gatepost.waiter_pids(pg_catalog.int8) IS
    'The backends that wait for the lease with that advisory_key, in the order in which they are served';

-- 18259 is the class of the waiters tag, src/locks.hpp.
CREATE VIEW gatepost.waiters AS
    SELECT l.name, w.pid, w.place, a.query_start AS since, a.application_name
    FROM (SELECT DISTINCT (classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
                              OPERATOR(pg_catalog.|) objid::pg_catalog.int8 AS key
          FROM pg_catalog.pg_locks
          WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND objsubid OPERATOR(pg_catalog.=) 18259
            AND database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database
                                                 WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
         ) k
    CROSS JOIN LATERAL gatepost.waiter_pids(k.key) w
    LEFT JOIN (SELECT DISTINCT name FROM gatepost.lease_rows()) l
        ON gatepost.advisory_key(l.name) OPERATOR(pg_catalog.=) k.key
    LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) w.pid;
COMMENT ON VIEW gatepost.waiters IS 'Sessions that wait inside the server for a lease, in the order in which they are served';
COMMENT ON COLUMN gatepost.waiters.name IS 'Name of the lease, NULL when the reader may not see it';
COMMENT ON COLUMN gatepost.waiters.pid IS 'Backend that waits';
COMMENT ON COLUMN gatepost.waiters.place IS '1 for the one who is served next';
COMMENT ON COLUMN gatepost.waiters.since IS 'Start of the statement that waits';
COMMENT ON COLUMN gatepost.waiters.application_name IS 'Application of the backend';
