// The slots of a name in ascending order, each once, past the executor like look: for semaphores, whose permits are
// slots. Only the fixed part of a row is read, since most are merely counted.
#pragma once

#include "lease_state.hpp"
#include "slots.hpp"

namespace gatepost {

// What is known of one slot.
struct SlotVersions {
  int32 slot;
  bool has_row;         // the settled version (own changes included)
  bool has_flight;      // the version that another open transaction has written
  bool in_flight;       // another open transaction has changed or deleted the row, or locks it
  bool own_change;      // this transaction has written the row
  TransactionId writer; // the other transaction, where it is known
  SlotData row;
  SlotData flight;     // of several see outranks
  List *outranked;     // the others, SlotData pointers
  int32 flight_weight; // the most that such a version has

  bool is_shut(const Moment &moment) const { return has_row && gatepost::is_shut(row, moment); }
  // Whether any version in flight passes. Test: (const SlotData &).
  template <class Test> bool any_flight(Test test) const {
    if (!has_flight || test(flight))
      return has_flight;
    ListCell *cell;
    foreach (cell, outranked)
      if (test(*static_cast<const SlotData *>(lfirst(cell))))
        return true;
    return false;
  }
  // Permits that are live or in flight here, or closed after a lapse.
  int32 weight_taken(const Moment &moment) const;
};

struct SlotWalk {
  SlotReader reader;
  int32 last;
  HeapTuple ahead; // the first version of the next slot
  SlotVersions found;
};

// The slots first and above, up to last. "Not found" counts only when the name's mutex is held.
void begin_walk(SlotWalk *walk, const Slots &slots, LeaseName name, int32 first, int32 last);

// nullptr at the end. Good until the next call.
const SlotVersions *next_slot(SlotWalk *walk);

void end_walk(SlotWalk *walk);

} // namespace gatepost
