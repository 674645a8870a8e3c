// Event trigger: a CHECK constraint that calls a function of ours, by its name or an operator's, would take leases
// while rows are checked, and again whenever the server likes. Index expressions and generated columns are refused by
// the server itself.
#include "edge.hpp"

namespace {

// Not by what the command is said to have made: in a REFRESH MATERIALIZED VIEW nothing is said.
constexpr const char *constraints_on_ours =
    "SELECT p.proname::pg_catalog.text, c.conname::pg_catalog.text, c.xmin"
    " FROM (SELECT u.objid, u.refobjid AS function FROM pg_catalog.pg_depend u"
    "  WHERE u.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
    "   AND u.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass"
    "  UNION ALL SELECT u.objid, o.oprcode FROM pg_catalog.pg_depend u"
    "   JOIN pg_catalog.pg_operator o ON o.oid OPERATOR(pg_catalog.=) u.refobjid"
    "  WHERE u.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_operator'::pg_catalog.regclass"
    "   AND u.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass) used"
    " JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) used.function"
    " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace"
    "  AND n.nspname OPERATOR(pg_catalog.=) 'gatepost'"
    " JOIN pg_catalog.pg_constraint c ON c.oid OPERATOR(pg_catalog.=) used.objid"
    "  AND c.contype OPERATOR(pg_catalog.=) 'c'";

bool made_here(HeapTuple row, TupleDesc description) {
  bool isnull;
  return TransactionIdIsCurrentTransactionId(DatumGetTransactionId(SPI_getbinval(row, description, 3, &isnull)));
}

} // namespace

GATEPOST_FUNCTION(refuse_in_constraints) {
  if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
    ereport(ERROR,
            (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED), errmsg("not called as an event trigger")));
  SPI_connect();
  const uint64 count = SPI_execute(constraints_on_ours, false, 0) == SPI_OK_SELECT ? SPI_processed : 0;
  for (uint64 i = 0; i < count; i++) {
    const HeapTuple row = SPI_tuptable->vals[i];
    const TupleDesc description = SPI_tuptable->tupdesc;
    if (made_here(row, description))
      ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
                      errmsg("function gatepost.%s cannot be used in check constraint \"%s\"",
                             SPI_getvalue(row, description, 1), SPI_getvalue(row, description, 2))));
  }
  SPI_finish();
  PG_RETURN_NULL();
}
