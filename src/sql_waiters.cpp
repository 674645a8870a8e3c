// SQL door: what the view waiters shows.
#include "edge.hpp"
#include "waiters.hpp"

using namespace gatepost;

GATEPOST_FUNCTION(waiter_pids) {
  InitMaterializedSRF(fcinfo, 0);
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  if (PG_ARGISNULL(0))
    return Datum{0};
  int count;
  const VirtualTransactionId *queue = queue_of(static_cast<uint64>(PG_GETARG_INT64(0)), &count);
  for (int i = 0; i < count; i++) {
    const PGPROC *process = pg::process_of(queue[i]);
    if (process == nullptr)
      continue;
    Datum values[] = {Int32GetDatum(i + 1), Int32GetDatum(process->pid)};
    bool nulls[] = {false, false};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  return Datum{0};
}
