// Event trigger: a CHECK constraint that calls a function of ours would take leases while rows are checked, and again
// whenever the server likes. Index expressions and generated columns are refused by the server itself.
#include "edge.hpp"

namespace {

constexpr const char *offending_query =
    "SELECT p.proname::pg_catalog.text, c.conname::pg_catalog.text"
    " FROM pg_catalog.pg_event_trigger_ddl_commands() d"
    " JOIN pg_catalog.pg_constraint c ON c.contype OPERATOR(pg_catalog.=) 'c'"
    "  AND ((d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
    "        AND c.conrelid OPERATOR(pg_catalog.=) d.objid)"
    "    OR (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_type'::pg_catalog.regclass"
    "        AND c.contypid OPERATOR(pg_catalog.=) d.objid))"
    " JOIN pg_catalog.pg_depend u ON u.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass"
    "  AND u.objid OPERATOR(pg_catalog.=) c.oid"
    "  AND u.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
    " JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) u.refobjid"
    " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace"
    " WHERE n.nspname OPERATOR(pg_catalog.=) 'gatepost' LIMIT 1";

} // namespace

GATEPOST_FUNCTION(refuse_in_constraints) {
  if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
    ereport(ERROR,
            (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED), errmsg("not called as an event trigger")));
  SPI_connect();
  if (SPI_execute(offending_query, false, 1) == SPI_OK_SELECT && SPI_processed > 0) {
    const char *function = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
    const char *constraint = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
    ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                    errmsg("function gatepost.%s cannot be used in check constraint \"%s\"", function, constraint)));
  }
  SPI_finish();
  PG_RETURN_NULL();
}
