// Test build only: a refusal of any kind, for tests of how refusals are counted, told and kept.
#ifdef GATEPOST_TEST
#include "arguments.hpp"
#include "edge.hpp"
#include "errors.hpp"
#include "refusals.hpp"

using namespace gatepost;

// (relation oid, name text, token bigint, current bigint, reason "char"); NULL for none.
GATEPOST_FUNCTION(test_refuse) {
  LeaseName name{nullptr};
  if (!PG_ARGISNULL(1))
    name = name_argument(fcinfo, 1);
  count_refusal({PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0), PG_ARGISNULL(1) ? nullptr : &name,
                 PG_ARGISNULL(2) ? 0 : PG_GETARG_INT64(2), PG_ARGISNULL(3) ? 0 : PG_GETARG_INT64(3),
                 static_cast<RefusalReason>(PG_GETARG_CHAR(4))});
  ereport(ERROR, (errcode(stale_token), errmsg("refused")));
}
#endif
