#include "yield.hpp"

#include "grant.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"

namespace gatepost {

bool request_yield(LeaseName name, const NameData &reason) {
  ensure_identity();
  const uint64 key = key_of(name);
  Slots slots;
  // The mark is in place: a reader's locks are enough.
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  mutex_lock(LockClass::mutex, key);
  bool asked = false;
  Look in_flight{};
  ListCell *cell;
  foreach (cell, slots_of_name(slots, name)) {
    const Look found = look(slots, name, lfirst_int(cell));
    if (found.in_flight)
      in_flight = found;
    // What was in flight when the slots were listed may have taken the row with it.
    if (found.row == nullptr && !mutant("gone_rows_asked"))
      continue;
    if ((found.in_flight && !mutant("yield_flight_ignored")) || slot_data(found.row)->kind == kind::semaphore ||
        !is_live(state_of(*slot_data(found.row), this_moment())))
      continue;
    if (mutant("yield_rolled_back")) {
      SlotData data = copy_of(found.row);
      data.yield_asked = true;
      update_slot(slots, found.row, data);
    } else {
      mark_yield(slots, name, lfirst_int(cell), reason);
    }
    asked = true;
  }
  mutex_unlock(LockClass::mutex, key);
  close_slots(&slots);
  if (in_flight.in_flight && !asked)
    refuse_in_flight(name, in_flight);
  return asked;
}

} // namespace gatepost
