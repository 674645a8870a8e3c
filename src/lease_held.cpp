#include "lease.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue.hpp"
#include "rights.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

constexpr int64 holder_patience_us = 5 * USECS_PER_SEC;

// Opens lease_slots for the holder of a lease: queued DDL must not lose it, so a call may wait for the locks up to a
// third of what is left, and at most 5 s.
void open_slots_for_holder(Slots *slots, LeaseName name) {
  if (try_open_slots(slots, RowExclusiveLock, false, 0))
    return;
  int64 patience = short_patience_us;
  Slots reading;
  if (!mutant("holders_impatient") && try_open_slots(&reading, AccessShareLock, false, short_patience_us)) {
    const Look found = look(reading, name, lock_slot);
    if (found.row != nullptr)
      patience = Max(patience, remaining_us(*slot_data(found.row), this_moment()) / 3);
    // The deadlock detector does not see this wait.
    patience = Min(patience, holder_patience_us);
    if (LockTimeout > 0)
      patience = Min(patience, LockTimeout * int64{1000});
    close_slots(&reading);
  }
  open_slots(slots, RowExclusiveLock, false, patience);
}

// The row if the token is its current one; nullptr: false is the answer.
HeapTuple own_row(LeaseName name, const Look &found, int64 token) {
  if (found.in_flight)
    refuse_in_flight(name);
  require_lock(name, found.row);
  if (found.row == nullptr || (slot_data(found.row)->token != token && !mutant("tokens_uncompared")))
    return nullptr;
  require_member(slot_data(found.row)->role, name);
  return found.row;
}

bool may_change(const SlotData &row, const Moment &moment) {
  const State state = state_of(row, moment);
  return is_live(state) || (state == State::lapsed && mutant("lapsed_renewed"));
}

// One change of the holder's own row, under the mutex. Change: (SlotData *, const Moment &), the moment being the one
// in which the lease was found live: no later one may lengthen it. frees: who waits outside the server is told.
template <class Change> bool change_held(LeaseName name, int64 token, Point point, bool frees, Change change) {
  Slots slots;
  open_slots_for_holder(&slots, name);
  const uint64 key = key_of(name);
  OutsideCall call;
  open_call(&call, name, key, frees);
  mutex_lock(LockClass::mutex, key);
  const HeapTuple row = own_row(name, look(slots, name, lock_slot), token);
  at(point);
  const Moment moment = this_moment();
  const bool changed = row != nullptr && may_change(*slot_data(row), moment);
  if (changed) {
    SlotData data = *slot_data(row);
    change(&data, moment);
    if (!update_slot(slots, row, data))
      refuse_in_flight(name);
    look_outside(&call);
  }
  mutex_unlock(LockClass::mutex, key);
  close_call(&call);
  changed ? close_slots_written(&slots) : close_slots(&slots);
  if (changed)
    note_touched(key);
  return changed;
}

} // namespace

bool renew_lease(LeaseName name, int64 token, int64 ttl) {
  ensure_identity();
  require_known_token(token);
  const bool renewed =
      change_held(name, token, Point::renew_mutexed, false, [ttl](SlotData *data, const Moment &moment) {
        if (ttl > 0)
          data->ttl = ttl;
        data->deadline = moment.now + data->ttl;
        data->boot = moment.boot;
        data->renewed_at = GetCurrentTimestamp();
      });
  if (renewed)
    note_durable_change();
  return renewed;
}

bool release_lease(LeaseName name, int64 token) {
  begin_release();
  ensure_identity();
  require_known_token(token);
  const bool released =
      change_held(name, token, Point::release_mutexed, true, [](SlotData *data, const Moment &moment) {
        data->state = stored::released;
        data->deadline = moment.now;
        data->boot = moment.boot;
      });
  if (released)
    end_release();
  return released;
}

} // namespace gatepost
