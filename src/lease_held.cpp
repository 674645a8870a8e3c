#include "lease.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "held.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "queue.hpp"
#include "rights.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

// The row if the token is its current one; nullptr: false is the answer.
HeapTuple own_row(LeaseName name, const Look &found, int64 token) {
  if (found.in_flight)
    refuse_in_flight(name, found);
  if (found.row == nullptr || (slot_data(found.row)->token != token && !mutant("tokens_uncompared")))
    return nullptr;
  require_member(*slot_data(found.row), name);
  return found.row;
}

// One change of the holder's own row, under the mutex. Change: (SlotData *, const Moment &). frees: who waits outside
// the server is told.
template <class Change> bool change_held(LeaseName name, int64 token, Point point, bool frees, Change change) {
  Slots slots;
  open_slots_for_holders(&slots, &name, &token, 1);
  const uint64 key = key_of(name);
  // Before the row is written, so that no error comes in between.
  if (!mutant("changes_wake_nobody"))
    note_touched(key);
  OutsideCall call;
  open_call(&call, name, key, frees);
  mutex_lock(LockClass::mutex, key);
  const HeapTuple row = own_row(name, look_for(slots, name, token), token);
  at(point);
  const Moment moment = this_moment();
  const bool changed = row != nullptr && may_change(*slot_data(row), moment);
  if (changed) {
    SlotData data = copy_of(row);
    change(&data, moment);
    if (!update_slot(slots, row, data))
      refuse_in_flight(name, data.kind);
    look_outside(&call);
  }
  mutex_unlock(LockClass::mutex, key);
  close_call(&call);
  changed ? close_slots_written(&slots) : close_slots(&slots);
  return changed;
}

} // namespace

bool renew_lease(LeaseName name, int64 token, int64 ttl) {
  ensure_identity();
  require_known_token(token);
  const bool renewed = change_held(name, token, Point::renew_mutexed, false,
                                   [ttl](SlotData *data, const Moment &moment) { renew(data, ttl, moment); });
  if (renewed && !mutant("renewals_unflushed"))
    note_durable_change();
  return renewed;
}

bool release_lease(LeaseName name, int64 token) {
  begin_release();
  ensure_identity();
  require_known_token(token);
  const bool released = change_held(name, token, Point::release_mutexed, true, release);
  if (released)
    end_release();
  return released;
}

} // namespace gatepost
