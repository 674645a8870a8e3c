// SQL doors: leases.
#include "arguments.hpp"
#include "edge.hpp"
#include "lease.hpp"
#include "rights.hpp"
#include "rules.hpp"

using namespace gatepost;

namespace {

Datum token_or_null(FunctionCallInfo fcinfo, int64 token) {
  if (token == 0)
    PG_RETURN_NULL();
  PG_RETURN_INT64(token);
}

AcquireRequest acquire_request(FunctionCallInfo fcinfo) {
  AcquireRequest request;
  request.name = name_argument(fcinfo, 0);
  require_action(request.name, Action::hold);
  request.ttl = ttl_argument(fcinfo, 1);
  request.wait = wait_argument(fcinfo, 2);
  request.owner = owner_argument(fcinfo, 3);
  request.metadata = metadata_argument(fcinfo, 4);
  request.request_id = request_id_argument(fcinfo, 5);
  return request;
}

} // namespace

GATEPOST_FUNCTION(lease_acquire) {
  require_changing("lease_acquire()");
  return token_or_null(fcinfo, acquire_lease(acquire_request(fcinfo)));
}

// Commits first, and waits in a transaction that has no snapshot.
GATEPOST_FUNCTION(lease_acquire_wait) {
  require_changing("lease_acquire_wait()");
  if (fcinfo->context == nullptr || !IsA(fcinfo->context, CallContext) ||
      reinterpret_cast<CallContext *>(fcinfo->context)->atomic)
    ereport(ERROR, (errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
                    errmsg("lease_acquire_wait() cannot be called inside a transaction block or a function"),
                    errhint("Call lease_acquire() there.")));
  SPI_connect_ext(SPI_OPT_NONATOMIC);
  const AcquireRequest request = acquire_request(fcinfo);
  SPI_commit();
  const int64 token = acquire_lease_between_transactions(request);
  SPI_finish();
  TupleDesc description;
  if (get_call_result_type(fcinfo, nullptr, &description) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "lease_acquire_wait() was not declared as gatepost does");
  const Datum value = Int64GetDatum(token);
  const bool isnull = token == 0;
  return HeapTupleGetDatum(
      heap_form_tuple(BlessTupleDesc(description), const_cast<Datum *>(&value), const_cast<bool *>(&isnull)));
}

GATEPOST_FUNCTION(lease_renew) {
  require_changing("lease_renew()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  const int64 token = token_argument(fcinfo, 1, "token");
  const int64 ttl = PG_ARGISNULL(2) ? 0 : ttl_argument(fcinfo, 2);
  PG_RETURN_BOOL(renew_lease(name, token, ttl));
}

GATEPOST_FUNCTION(lease_release) {
  require_changing("lease_release()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  PG_RETURN_BOOL(release_lease(name, token_argument(fcinfo, 1, "token")));
}

GATEPOST_FUNCTION(lease_status) {
  PreventCommandIfParallelMode("lease_status()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::see);
  PG_RETURN_TEXT_P(cstring_to_text(lease_status(name, token_argument(fcinfo, 1, "token"))));
}

GATEPOST_FUNCTION(lease_break) {
  require_changing("lease_break()");
  // A rule may let others break leases of a name, so it takes a name to know.
  if (PG_ARGISNULL(0))
    require_administrator("lease_break()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::break_lease);
  const int64 token = PG_ARGISNULL(1) ? 0 : token_argument(fcinfo, 1, "token");
  return token_or_null(fcinfo, break_lease(name, token, reason_argument(fcinfo, 2)));
}

GATEPOST_FUNCTION(lease_purge) {
  require_changing("lease_purge()");
  require_administrator("lease_purge()");
  const int64 older_than = duration_argument(fcinfo, 0, "older_than");
  require_argument(fcinfo, 1, "prefix");
  PG_RETURN_INT64(purge_leases(older_than, PG_GETARG_TEXT_PP(1)));
}
