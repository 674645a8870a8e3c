// SQL doors: waiting outside the server.
#include "arguments.hpp"
#include "edge.hpp"
#include "hash.hpp"
#include "lease_transfer.hpp"
#include "queue.hpp"
#include "rights.hpp"
#include "rules.hpp"
#include "watch.hpp"

using namespace gatepost;

namespace {

int64 stay_argument(FunctionCallInfo fcinfo, int index) {
  const int64 stay = duration_argument(fcinfo, index, "stay");
  if (stay == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("stay must be greater than zero")));
  if (stay > longest_stay_us)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("stay is %.6f seconds long, at most %lld are allowed", static_cast<double>(stay) / USECS_PER_SEC,
                    static_cast<long long>(longest_stay_us / USECS_PER_SEC)),
             errhint("Call again to prolong it.")));
  return stay;
}

pg_uuid_t place_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  return request_id_argument(fcinfo, index, argument);
}

Datum channel(LeaseName name) { PG_RETURN_TEXT_P(cstring_to_text(channel_of(key_of(name)))); }

} // namespace

GATEPOST_FUNCTION(lease_queue) {
  require_changing("lease_queue()");
  AcquireRequest request;
  request.name = name_argument(fcinfo, 0);
  require_action(request.name, Action::hold);
  request.request_id = place_argument(fcinfo, 1, "request_id");
  request.ttl = ttl_argument(fcinfo, 2);
  const int64 stay = stay_argument(fcinfo, 3);
  request.owner = owner_argument(fcinfo, 4);
  request.metadata = metadata_argument(fcinfo, 5);
  request.wait = 0;
  queue_request(request, stay);
  return channel(request.name);
}

GATEPOST_FUNCTION(lease_unqueue) {
  require_changing("lease_unqueue()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  PG_RETURN_BOOL(unqueue_request(name, place_argument(fcinfo, 1, "request_id")));
}

GATEPOST_FUNCTION(lease_transfer) {
  require_changing("lease_transfer()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  const int64 token = token_argument(fcinfo, 1, "token");
  const int64 granted = transfer_lease(name, token, place_argument(fcinfo, 2, "to_request_id"));
  if (granted == 0)
    PG_RETURN_NULL();
  PG_RETURN_INT64(granted);
}

GATEPOST_FUNCTION(lease_watch) {
  require_changing("lease_watch()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::see);
  watch_name(name);
  return channel(name);
}

GATEPOST_FUNCTION(lease_unwatch) {
  require_changing("lease_unwatch()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::see);
  PG_RETURN_BOOL(unwatch_name(name));
}
