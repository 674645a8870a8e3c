#include "slot_walk.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

void take_in(SlotVersions *found, const SnapshotData &dirty, HeapTuple tuple) {
  if (TransactionIdIsValid(dirty.xmin)) {
    found->in_flight = found->has_flight = true;
    found->writer = dirty.xmin;
    found->flight = copy_of(tuple);
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
  found->row = copy_of(tuple);
}

} // namespace

int32 SlotVersions::weight_taken(const Moment &moment) const {
  const int32 live = is_shut(moment) ? row.weight : 0;
  // What another transaction grants counts until it is rolled back; what it gives back, until it commits.
  const int32 granted =
      has_flight && flight.state == stored::held && !mutant("permits_in_flight_free") ? flight.weight : 0;
  return Max(live, granted);
}

void begin_walk(SlotWalk *walk, const Slots &slots, LeaseName name, int32 first, int32 last) {
  open_reader(&walk->reader, slots);
  aim(&walk->reader, name, first, Reach::onward);
  walk->last = last;
  walk->ahead = nullptr;
}

const SlotVersions *next_slot(SlotWalk *walk) {
  SlotVersions *found = &walk->found;
  HeapTuple tuple = walk->ahead != nullptr ? walk->ahead : next_version(&walk->reader);
  walk->ahead = nullptr;
  if (tuple == nullptr || slot_data(tuple)->slot > walk->last)
    return nullptr;
  found->slot = slot_data(tuple)->slot;
  found->has_row = found->has_flight = found->in_flight = found->own_change = false;
  found->writer = InvalidTransactionId;
  do {
    take_in(found, walk->reader.dirty, tuple);
    tuple = next_version(&walk->reader);
  } while (tuple != nullptr && slot_data(tuple)->slot == found->slot);
  walk->ahead = tuple;
  return found;
}

void end_walk(SlotWalk *walk) { close_reader(&walk->reader); }

} // namespace gatepost
