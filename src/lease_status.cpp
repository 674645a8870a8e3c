#include "lease.hpp"

#include "hash.hpp"
#include "held.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"

namespace gatepost {

const char *lease_status(LeaseName name, int64 token) {
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  Look found = look_for(slots, name, token);
  if (found.row == nullptr && !found.in_flight && !RecoveryInProgress() && !mutant("first_look_believed")) {
    const uint64 key = key_of(name);
    mutex_lock(LockClass::mutex, key);
    found = look_for(slots, name, token);
    mutex_unlock(LockClass::mutex, key);
  }
  const char *status = status_of(slots, name, found, token, this_moment());
  close_slots(&slots);
  return status;
}

} // namespace gatepost
