#include "lease.hpp"

#include "grant.hpp"
#include "hash.hpp"
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
  const bool granted_since = found.permits && latest_permit(slots, name, false) > token;
  close_slots(&slots);
  const bool flying = found.in_flight && (found.row == nullptr || slot_data(found.row)->token <= token);
  if (flying)
    return "in_flight";
  if (found.row == nullptr)
    return granted_since ? state_name(State::superseded) : "unknown";
  const SlotData *data = slot_data(found.row);
  if (data->state == stored::broken && data->prior == token)
    return state_name(State::broken);
  if (data->token > token)
    return state_name(State::superseded);
  if (data->token < token)
    return "unknown";
  return state_name(state_of(*data, this_moment()));
}

} // namespace gatepost
