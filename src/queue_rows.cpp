#include "queue_rows.hpp"

#include "absence.hpp"
#include "hash.hpp"
#include "locks.hpp"
#include "slots.hpp"

namespace gatepost {
namespace {

void begin_scan_at(QueueScan *scan, const Queue &queue, uint64 key, const int64 *arrival) {
  constexpr AttrNumber index_key = 1;
  constexpr AttrNumber index_arrival = 2;
  const int count = arrival != nullptr ? 2 : 1;
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], index_key, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(static_cast<int64>(key)));
  if (arrival != nullptr)
    ScanKeyInit(&keys[1], index_arrival, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(*arrival));
  InitDirtySnapshot(scan->dirty);
  scan->dirty.xmin = scan->dirty.xmax = InvalidTransactionId;
  scan->index = index_open(queue.primary_key, AccessShareLock);
  scan->scan = pg::index_beginscan(queue.heap, scan->index, &scan->dirty, count);
  index_rescan(scan->scan, keys, count, nullptr, 0);
  scan->slot = table_slot_create(queue.heap, nullptr);
}

// The rows that no longer count.
List *dead_rows(const Queue &queue, text *prefix) {
  List *rows = NIL;
  const Moment moment = this_moment();
  each_row_of_all(queue, [&](HeapTuple tuple, bool settled) {
    if (settled && !is_current(*queue_data(tuple), moment) && has_prefix(queue_text_of(queue, tuple).name, prefix))
      rows = lappend(rows, heap_copytuple(tuple));
  });
  return rows;
}

} // namespace

void begin_scan(QueueScan *scan, const Queue &queue, uint64 key) { begin_scan_at(scan, queue, key, nullptr); }

bool next_row(QueueScan *scan, QueueRow *row) {
  if (!index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot))
    return false;
  *row = {ExecFetchSlotHeapTuple(scan->slot, false, nullptr), TransactionIdIsValid(scan->dirty.xmin),
          TransactionIdIsValid(scan->dirty.xmax)};
  return true;
}

void end_scan(QueueScan *scan) {
  ExecDropSingleTupleTableSlot(scan->slot);
  index_endscan(scan->scan);
  index_close(scan->index, AccessShareLock);
}

bool has_no_row(const Queue &queue, LeaseName name, uint64 key) {
  KnownName *known = known_name(name);
  if (known == nullptr)
    return false;
  const Relation index = index_open(queue.primary_key, NoLock); // open_queue has locked it
  const bool none = has_no_entry(index, Int64GetDatum(static_cast<int64>(key)), &known->places);
  index_close(index, NoLock);
  return none;
}

QueueText queue_text_of(const Queue &queue, HeapTuple tuple) {
  const auto value = [&](QueueColumn column) -> void * {
    bool isnull;
    const Datum datum = heap_getattr(tuple, column, RelationGetDescr(queue.heap), &isnull);
    return isnull ? nullptr : PG_DETOAST_DATUM_PACKED(datum);
  };
  const auto aligned = [&](QueueColumn column) -> void * {
    bool isnull;
    const Datum datum = heap_getattr(tuple, column, RelationGetDescr(queue.heap), &isnull);
    return isnull ? nullptr : PG_DETOAST_DATUM(datum);
  };
  return {{static_cast<text *>(value(queue_name))},
          static_cast<ArrayType *>(aligned(queue_before)),
          static_cast<text *>(value(queue_owner)),
          static_cast<inet *>(value(queue_client_addr)),
          static_cast<Jsonb *>(aligned(queue_metadata))};
}

bool is_of_name(const Queue &queue, HeapTuple tuple, LeaseName name) {
  bool isnull;
  const LeaseName stored{DatumGetTextPP(heap_getattr(tuple, queue_name, RelationGetDescr(queue.heap), &isnull))};
  return stored.bytes() == name.bytes();
}

void insert_row(const Queue &queue, const QueueData &data, const QueueText &texts) {
  const TupleDesc description = RelationGetDescr(queue.heap);
  Datum *values = static_cast<Datum *>(palloc0(sizeof(Datum) * description->natts));
  bool *nulls = static_cast<bool *>(palloc(sizeof(bool) * description->natts));
  // Columns past ours have been dropped.
  memset(nulls, true, sizeof(bool) * description->natts);
  const auto set = [&](QueueColumn column, Datum value) {
    values[column - 1] = value;
    nulls[column - 1] = false;
  };
  const auto set_optional = [&](QueueColumn column, const void *value) {
    values[column - 1] = PointerGetDatum(value);
    nulls[column - 1] = value == nullptr;
  };
  set(queue_key, Int64GetDatum(data.key));
  set(queue_arrival, Int64GetDatum(data.arrival));
  set(queue_deadline, Int64GetDatum(data.deadline));
  set(queue_boot, Int64GetDatum(data.boot));
  set(queue_ttl, Int64GetDatum(data.ttl));
  set(queue_queued_at, TimestampTzGetDatum(data.queued_at));
  set(queue_role, ObjectIdGetDatum(data.role));
  set(queue_pid, Int32GetDatum(data.pid));
  set(queue_request_id, UUIDPGetDatum(&data.request_id));
  set(queue_name, PointerGetDatum(texts.name.value));
  set(queue_before, PointerGetDatum(texts.before));
  set_optional(queue_owner, texts.owner);
  set_optional(queue_client_addr, texts.client_addr);
  set_optional(queue_metadata, texts.metadata);
  CatalogTupleInsert(queue.heap, heap_form_tuple(description, values, nulls));
  CommandCounterIncrement();
}

bool delete_row(const Queue &queue, HeapTuple tuple) {
  if (pg::heap_delete_nowait(queue.heap, &tuple->t_self) != TM_Ok)
    return false;
  CommandCounterIncrement();
  return true;
}

bool prolong_row(const Queue &queue, const QueueData &row, int64 deadline) {
  for (;;) {
    QueueScan scan;
    begin_scan_at(&scan, queue, static_cast<uint64>(row.key), &row.arrival);
    QueueRow found;
    if (!next_row(&scan, &found) || !found.settled() || locked_elsewhere(found.tuple->t_data)) {
      end_scan(&scan);
      return false;
    }
    auto *place = reinterpret_cast<BufferHeapTupleTableSlot *>(scan.slot);
    // When the server has to wait for somebody it ends the scan, and the row is looked up again.
    const auto end = [](void *scan) { end_scan(static_cast<QueueScan *>(scan)); };
    if (!heap_inplace_lock(queue.heap, place->base.tuple, place->buffer, end, &scan))
      continue;
    HeapTuple prolonged = heap_copytuple(place->base.tuple);
    queue_data(prolonged)->deadline = deadline;
    heap_inplace_update_and_unlock(queue.heap, place->base.tuple, prolonged, place->buffer);
    end_scan(&scan);
    heap_freetuple(prolonged);
    return true;
  }
}

bool purge_queue(text *prefix) {
  Queue queue;
  open_queue(&queue, RowExclusiveLock);
  bool deleted = false;
  ListCell *cell;
  foreach (cell, dead_rows(queue, prefix)) {
    CHECK_FOR_INTERRUPTS();
    const QueueData dead = *queue_data(static_cast<HeapTuple>(lfirst(cell)));
    const auto key = static_cast<uint64>(dead.key);
    mutex_lock(LockClass::mutex, key);
    QueueScan scan;
    begin_scan_at(&scan, queue, key, &dead.arrival);
    QueueRow row;
    if (next_row(&scan, &row) && row.settled() && !is_current(row.data(), this_moment()))
      deleted |= delete_row(queue, row.tuple);
    end_scan(&scan);
    mutex_unlock(LockClass::mutex, key);
  }
  deleted ? close_queue_written(&queue) : close_queue(&queue);
  return deleted;
}

} // namespace gatepost
