CREATE FUNCTION gatepost.advisory_known(
    OUT key pg_catalog.int8,
    OUT name pg_catalog.text,
    OUT mode pg_catalog.text,
    OUT scope pg_catalog.text
) RETURNS SETOF pg_catalog.record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1000 AS 'MODULE_PATHNAME', 'gatepost_advisory_known';
COMMENT ON FUNCTION gatepost.advisory_known() IS
    'Internal: names and scopes of the advisory locks that this session holds';

-- 18257 is the class of the holder tag, src/locks.hpp. Uses take it in another mode.
CREATE VIEW gatepost.advisory_locks AS
    SELECT DISTINCT k.name, l.key, l.mode, k.scope, l.pid
    FROM (SELECT (classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
                     OPERATOR(pg_catalog.|) objid::pg_catalog.int8 AS key,
                 CASE WHEN mode OPERATOR(pg_catalog.=) 'ExclusiveLock' THEN 'exclusive' ELSE 'shared' END AS mode,
                 pid
          FROM pg_catalog.pg_locks
          WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND objsubid OPERATOR(pg_catalog.=) 18257 AND granted
            AND mode OPERATOR(pg_catalog.=) ANY ('{ExclusiveLock,ShareLock}')
            AND database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database
                                                 WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
         ) l
    LEFT JOIN gatepost.advisory_known() k
        ON l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid() AND k.key OPERATOR(pg_catalog.=) l.key
           AND k.mode OPERATOR(pg_catalog.=) l.mode;
COMMENT ON VIEW gatepost.advisory_locks IS 'Advisory locks of this database; names and scopes are known for the own session only';
COMMENT ON COLUMN gatepost.advisory_locks.name IS 'Name of the lock, NULL for another session''s';
COMMENT ON COLUMN gatepost.advisory_locks.key IS 'advisory_key of the name';
COMMENT ON COLUMN gatepost.advisory_locks.mode IS 'exclusive or shared';
COMMENT ON COLUMN gatepost.advisory_locks.scope IS 'transaction or session, NULL for another session''s';
COMMENT ON COLUMN gatepost.advisory_locks.pid IS 'Backend that holds it';
