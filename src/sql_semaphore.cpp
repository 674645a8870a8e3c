// SQL doors: semaphores.
#include "arguments.hpp"
#include "edge.hpp"
#include "hash.hpp"
#include "permits.hpp"
#include "rights.hpp"
#include "rules.hpp"
#include "semaphore.hpp"
#include "waiters.hpp"

using namespace gatepost;

namespace {

int32 permits_argument(FunctionCallInfo fcinfo, int index, const char *argument, int32 most) {
  require_argument(fcinfo, index, argument);
  const int32 number = PG_GETARG_INT32(index);
  if (number < 1 || number > most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is %d, it must be between 1 and %d", argument, number, most)));
  return number;
}

} // namespace

GATEPOST_FUNCTION(semaphore_acquire) {
  require_changing("semaphore_acquire()");
  SemaphoreRequest request;
  request.grant.name = name_argument(fcinfo, 0);
  require_action(request.grant.name, Action::hold);
  request.permits = permits_argument(fcinfo, 1, "permits", most_permits);
  request.grant.ttl = ttl_argument(fcinfo, 2);
  request.grant.wait = wait_argument(fcinfo, 3);
  request.weight = permits_argument(fcinfo, 4, "weight", request.permits);
  request.grant.owner = owner_argument(fcinfo, 5);
  request.grant.metadata = metadata_argument(fcinfo, 6);
  request.grant.request_id = request_id_argument(fcinfo, 7);
  const int64 token = acquire_permit(request);
  if (token == 0)
    PG_RETURN_NULL();
  PG_RETURN_INT64(token);
}

namespace {

// A row of the view semaphores.
void put_semaphore(FunctionCallInfo fcinfo, const Slots &slots, HeapTuple limit) {
  const LeaseName name = slot_name_of(slots, limit);
  if (!permitted(name.bytes(), Action::see))
    return;
  const int64 permits = slot_data(limit)->weight;
  const int64 live = count_permits(slots, name, this_moment());
  int waiting;
  queue_of(key_of(name), &waiting);
  Datum values[] = {PointerGetDatum(name.value), Int64GetDatum(permits), Int64GetDatum(live),
                    Int64GetDatum(Max(permits - live, 0)), Int64GetDatum(waiting)};
  bool nulls[5] = {};
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

} // namespace

// A dirty scan takes no predicate locks; while a semaphore is resized it shows two versions, of which the settled one
// counts.
GATEPOST_FUNCTION(semaphore_rows) {
  PreventCommandIfParallelMode("semaphore_rows()");
  InitMaterializedSRF(fcinfo, 0);
  refresh_rules();
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TableScanDesc scan = table_beginscan_strat(slots.heap, &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    if (!TransactionIdIsValid(dirty.xmin) && slot_data(tuple)->kind == kind::semaphore)
      put_semaphore(fcinfo, slots, tuple);
  }
  table_endscan(scan);
  close_slots(&slots);
  return Datum{0};
}

GATEPOST_FUNCTION(semaphore_resize) {
  require_changing("semaphore_resize()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  PG_RETURN_BOOL(resize_semaphore(name, permits_argument(fcinfo, 1, "permits", most_permits)));
}
