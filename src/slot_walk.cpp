#include "slot_walk.hpp"

#include "mutant.hpp"

#include <utility>

namespace gatepost {
namespace {

void take_in(SlotVersions *found, const SnapshotData &dirty, HeapTuple tuple) {
  if (TransactionIdIsValid(dirty.xmin)) {
    SlotData flight = copy_of(tuple);
    found->flight_weight = found->has_flight ? Max(found->flight_weight, flight.weight) : flight.weight;
    if (!found->has_flight || outranks(flight, found->flight))
      std::swap(flight, found->flight);
    if (found->has_flight && !mutant("outranked_flights_forgotten")) {
      auto *other = static_cast<SlotData *>(palloc(sizeof(SlotData)));
      *other = flight;
      found->outranked = lappend(found->outranked, other);
    }
    found->in_flight = found->has_flight = true;
    found->writer = dirty.xmin;
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
  // What another transaction grants counts until it is rolled back; what it gives back, until it commits, and so does
  // what it has granted itself, since it may have used that.
  if (!has_flight || mutant("permits_in_flight_free"))
    return live;
  if (flight.state != stored::held && mutant("ended_flights_free"))
    return live;
  return Max(live, mutant("latest_weight_counts") ? flight.weight : flight_weight);
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
  found->outranked = NIL;
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
