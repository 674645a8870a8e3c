// SQL doors: what the view waiters shows.
#include "edge.hpp"
#include "queue.hpp"
#include "rules.hpp"

using namespace gatepost;

GATEPOST_FUNCTION(waiter_places) {
  PreventCommandIfParallelMode("waiter_places()");
  InitMaterializedSRF(fcinfo, 0);
  const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  if (PG_ARGISNULL(0))
    return Datum{0};
  refresh_rules();
  Queue queue;
  open_queue(&queue, AccessShareLock);
  Waiting *waiting;
  const int count = whole_queue(queue, static_cast<uint64>(PG_GETARG_INT64(0)), &waiting);
  for (int i = 0; i < count; i++) {
    Datum values[5] = {Int32GetDatum(i + 1), Int32GetDatum(waiting[i].pid)};
    bool nulls[5] = {false, false, true, true, true};
    if (HeapTuple place = waiting[i].place) {
      const QueueText texts = queue_text_of(queue, place);
      const bool hidden = !permitted(texts.name.bytes(), Action::see);
      nulls[1] = true;
      nulls[2] = false;
      values[2] = TimestampTzGetDatum(queue_data(place)->queued_at);
      nulls[3] = hidden;
      values[3] = PointerGetDatum(texts.name.value);
      nulls[4] = hidden || texts.owner == nullptr;
      values[4] = PointerGetDatum(texts.owner);
    }
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  close_queue(&queue);
  return Datum{0};
}

GATEPOST_FUNCTION(queued_keys) {
  PreventCommandIfParallelMode("queued_keys()");
  InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
  const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  Queue queue;
  open_queue(&queue, AccessShareLock);
  const Moment moment = this_moment();
  each_row_of_all(queue, [&](HeapTuple tuple, bool settled) {
    const QueueData &data = *queue_data(tuple);
    if (!settled || is_watcher(data) || !is_current(data, moment))
      return;
    Datum values[] = {Int64GetDatum(data.key)};
    bool nulls[] = {false};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  });
  close_queue(&queue);
  return Datum{0};
}
