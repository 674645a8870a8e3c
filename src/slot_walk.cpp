#include "slot_walk.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

// Puts the next version into place.
bool fetch_version(SlotWalk *walk) {
  for (;;) {
    if (!walk->more && index_getnext_tid(walk->scan, ForwardScanDirection) == nullptr)
      return false;
    const bool found = index_fetch_heap(walk->scan, walk->place);
    walk->more = found && walk->scan->xs_heap_continue;
    if (found)
      return true;
  }
}

void take_in(SlotVersions *found, const SnapshotData &dirty, HeapTuple tuple) {
  const SlotData *data = slot_data(tuple);
  if (TransactionIdIsValid(dirty.xmin)) {
    found->in_flight = found->has_flight = true;
    found->writer = dirty.xmin;
    found->flight = *data;
    return;
  }
  if (TransactionIdIsValid(dirty.xmax)) {
    found->in_flight = true;
    found->writer = dirty.xmax;
  } else if (locked_elsewhere(tuple->t_data)) {
    found->in_flight = true;
  }
  found->own_change = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
  found->has_row = true;
  found->row = *data;
}

} // namespace

int32 SlotVersions::weight_taken(const Moment &moment) const {
  const int32 live = is_live(moment) ? row.weight : 0;
  // What another transaction grants counts until it is rolled back; what it gives back, until it commits.
  const int32 granted = has_flight && flight.state == stored::held && !mutant("permits_in_flight_free") ? flight.weight
                                                                                                        : 0;
  return Max(live, granted);
}

void begin_walk(SlotWalk *walk, const Slots &slots, LeaseName name, int32 first, int32 last) {
  constexpr AttrNumber index_name = 1;
  constexpr AttrNumber index_slot = 2;
  ScanKeyData keys[3];
  ScanKeyInit(&keys[0], index_name, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(name.value));
  keys[0].sk_collation = C_COLLATION_OID;
  ScanKeyInit(&keys[1], index_slot, BTGreaterEqualStrategyNumber, F_INT4GE, Int32GetDatum(first));
  ScanKeyInit(&keys[2], index_slot, BTLessEqualStrategyNumber, F_INT4LE, Int32GetDatum(last));
  InitDirtySnapshot(walk->dirty);
  walk->dirty.xmin = walk->dirty.xmax = InvalidTransactionId;
  walk->index = index_open(slots.primary_key, AccessShareLock);
  walk->scan = pg::index_beginscan(slots.heap, walk->index, &walk->dirty, 3);
  index_rescan(walk->scan, keys, 3, nullptr, 0);
  walk->place = table_slot_create(slots.heap, nullptr);
  walk->more = walk->ahead = false;
}

const SlotVersions *next_slot(SlotWalk *walk) {
  SlotVersions *found = &walk->found;
  bool begun = false;
  for (;;) {
    if (!walk->ahead && !fetch_version(walk))
      return begun ? found : nullptr;
    walk->ahead = false;
    const HeapTuple tuple = ExecFetchSlotHeapTuple(walk->place, false, nullptr);
    if (!begun) {
      found->slot = slot_data(tuple)->slot;
      found->has_row = found->has_flight = found->in_flight = found->own_change = false;
      found->writer = InvalidTransactionId;
      begun = true;
    } else if (slot_data(tuple)->slot != found->slot) {
      walk->ahead = true;
      return found;
    }
    take_in(found, walk->dirty, tuple);
  }
}

void end_walk(SlotWalk *walk) {
  ExecDropSingleTupleTableSlot(walk->place);
  index_endscan(walk->scan);
  index_close(walk->index, AccessShareLock);
}

} // namespace gatepost
