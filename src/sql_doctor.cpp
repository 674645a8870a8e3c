// SQL doors: what operators ask. The questions are in sql/, and run as the extension's owner; what only the library
// knows is here.
#include "arguments.hpp"
#include "clock.hpp"
#include "edge.hpp"
#include "mark_above.hpp"
#include "owned_statement.hpp"
#include "rights.hpp"
#include "token.hpp"

using namespace gatepost;

GATEPOST_FUNCTION(doctor) {
  require_monitor("doctor()");
  InitMaterializedSRF(fcinfo, 0);
  put_owned_rows("identity", "SELECT severity, subject, detail, fix FROM gatepost.doctor_findings()",
                 reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo));
  return Datum{0};
}

GATEPOST_FUNCTION(stats_row) {
  require_monitor("stats_row()");
  InitMaterializedSRF(fcinfo, 0);
  put_owned_rows("identity", "SELECT * FROM gatepost.doctor_stats()",
                 reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo));
  return Datum{0};
}

// NULL: not looked at. 0: no mark is above the last token.
GATEPOST_FUNCTION(doctor_mark_above) {
  require_monitor("doctor_mark_above()");
  require_argument(fcinfo, 0, "target");
  const MarkAbove above = mark_above(PG_GETARG_OID(0), last_token());
  if (!above.looked)
    PG_RETURN_NULL();
  PG_RETURN_INT64(above.mark);
}

GATEPOST_FUNCTION(doctor_facts) {
  InitMaterializedSRF(fcinfo, 0);
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  const bool standby = RecoveryInProgress();
  Datum values[] = {Int64GetDatum(standby ? 0 : static_cast<int64>(GetWALInsertionTimeLine())),
                    Int64GetDatum(boot_fingerprint()), Int32GetDatum(pg::built_for)};
  bool nulls[] = {standby, false, false};
  tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  return Datum{0};
}
