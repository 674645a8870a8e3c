#include "lease.hpp"

#include "hash.hpp"
#include "held.hpp"
#include "locks.hpp"
#include "mutant.hpp"

namespace gatepost {

const char *lease_status(LeaseName name, int64 token) {
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  Look found = find_row(slots, name, token);
  if (found.row == nullptr && !found.in_flight && !RecoveryInProgress() && !mutant("first_look_believed")) {
    const uint64 key = key_of(name);
    mutex_lock(LockClass::mutex, key);
    found = find_row(slots, name, token);
    mutex_unlock(LockClass::mutex, key);
  }
  close_slots(&slots);
  return status_of(found, token, this_moment());
}

} // namespace gatepost
