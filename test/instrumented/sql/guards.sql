-- Errors raised over C++ objects: destructors run, the SQLSTATE, detail and hint arrive, the session works on.
CREATE FUNCTION server_error(depth int) RETURNS void LANGUAGE c AS '$libdir/gatepost_guards', 'gatepost_guards_server_error';
CREATE FUNCTION rethrown() RETURNS void LANGUAGE c AS '$libdir/gatepost_guards', 'gatepost_guards_rethrown';
CREATE FUNCTION exception(what text) RETURNS void LANGUAGE c AS '$libdir/gatepost_guards', 'gatepost_guards_exception';
CREATE FUNCTION live() RETURNS int LANGUAGE c AS '$libdir/gatepost_guards', 'gatepost_guards_live';
CREATE FUNCTION handling() RETURNS bool LANGUAGE c AS '$libdir/gatepost_guards', 'gatepost_guards_handling';

CREATE FUNCTION caught(statement text, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN others OR assert_failure OR query_canceled THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT;
END $$;

SELECT server_error(5);
SELECT live();
SELECT * FROM caught('SELECT server_error(0)');
SELECT * FROM caught('SELECT rethrown()');
SELECT code, message FROM unnest('{bad_alloc,invalid_argument,out_of_range,runtime_error,int}'::text[]) AS what,
    caught(format('SELECT exception(%L)', what));
SELECT live();

-- An exception that the C++ runtime believed still in flight would end the session sooner or later.
SELECT handling();
SELECT count(*), min(code), max(code) FROM generate_series(1, 2000) n,
    caught(CASE n % 3 WHEN 0 THEN 'SELECT server_error(2)' WHEN 1 THEN 'SELECT rethrown()'
           ELSE 'SELECT exception(''runtime_error'')' END);
SELECT live();

-- A server error inside an exception block of a transaction that goes on.
BEGIN;
SAVEPOINT s;
SELECT exception('runtime_error');
ROLLBACK TO s;
SELECT server_error(1);
ROLLBACK TO s;
SELECT 1 AS works_on, live();
COMMIT;

DROP FUNCTION server_error, rethrown, exception, live, handling, caught;
