#include "advisory.hpp"

#include "clock.hpp"
#include "durability.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "lease_state.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "rules.hpp"
#include "slots.hpp"
#include "testpoint.hpp"
#include "waiting.hpp"

namespace gatepost {
namespace {

HolderMode mode_of(bool shared) {
  if (!shared)
    return HolderMode::exclusive;
  return mutant("shared_as_use") ? HolderMode::use : HolderMode::shared;
}

// What is in the way of a rung.
enum class Obstacle {
  none,   // it has been taken
  flight, // another transaction has the row in flight
  lease,  // a live lease
  tag,    // a use or another rung
};

struct Attempt {
  Obstacle obstacle;
  TransactionId writer; // of the flight, where it is known
  int64 remaining_us;   // of the lease
};

// A session lock outlives the rollback that would undo the ground it stands on.
void refuse_own_change(LeaseName name) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("cannot take a session lock on \"%s\": this transaction has changed its lease", printable(name)),
           errhint("Take it in a transaction of its own, or take the transaction's lock.")));
}

// Under the mutex: looks, takes the tag unless it is had already, and marks the lapsed lease whose name is taken. A tag
// that is had goes when the rung is not to be had, still under the mutex, so that nobody finds it in the way of a free
// name.
Attempt attempt(const RungRequest &request, uint64 key, bool has_tag) {
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  mutex_lock(LockClass::mutex, key);
  const Look first = look(slots, request.name, 0);
  const Moment moment = this_moment();
  const bool semaphore = is_semaphore(first) && !mutant("rung_permits_ignored");
  const Standing found = semaphore ? standing_of(slots, request.name, moment) : standing_of(first, moment);
  if (request.scope == RungScope::session && (found.own_change || purged_in_transaction()) &&
      !mutant("own_changes_ignored"))
    refuse_own_change(request.name);
  Attempt result{Obstacle::none, found.writer, 0};
  if (found.in_flight && !mutant("rung_flight_ignored"))
    result.obstacle = Obstacle::flight;
  else if (found.shut && !mutant("rung_lease_ignored"))
    result = {Obstacle::lease, InvalidTransactionId, found.remaining_us};
  else if (!has_tag && !holder_take(key, mode_of(request.shared), false))
    result.obstacle = Obstacle::tag;
  if (has_tag && result.obstacle != Obstacle::none && !mutant("refused_rungs_linger"))
    holder_drop(key, mode_of(request.shared));
  if (result.obstacle == Obstacle::none) {
    at(Point::rung_taken);
    if (found.lapsed && semaphore && !mutant("permits_unmarked"))
      mark_permits_superseded(slots, request.name, moment);
    else if (found.lapsed && !semaphore && !mutant("takeover_unmarked"))
      mark_superseded(slots, request.name, 0);
  }
  mutex_unlock(LockClass::mutex, key);
  close_slots(&slots);
  return result;
}

struct TagWait {
  uint64 key;
  HolderMode mode;
};

void wait_for_tag(void *argument) {
  const auto *wait = static_cast<TagWait *>(argument);
  // A waiter may find the tag taken between the end of this wait and an error.
  if (!mutant("waited_tags_wake_nobody"))
    note_touched(wait->key);
  holder_take(wait->key, wait->mode, true);
}

void wait_for_writer(void *argument) {
  XactLockTableWait(*static_cast<TransactionId *>(argument), nullptr, nullptr, XLTW_None);
}

// Waits for what is in the way, but for a lease. Result: false when the time is over; *has_tag when the tag was what it
// waited for.
bool wait_for(const RungRequest &request, uint64 key, Attempt found, const Patience &patience, bool *has_tag) {
  const int64 left = patience.left();
  if (left == 0)
    return false;
  if (found.obstacle == Obstacle::tag) {
    TagWait wait{key, mode_of(request.shared)};
    *has_tag = wait_within(left, wait_for_tag, &wait);
    return *has_tag;
  }
  if (TransactionIdIsValid(found.writer))
    return wait_within(left, wait_for_writer, &found.writer);
  constexpr int64 row_lock_us = 100 * 1000;
  doze(row_lock_us, patience);
  return true;
}

// The place in the queue of those who wait for leases, where the rung has one.
struct Place {
  bool taken;
  Waiter waiter;

  void leave(bool granted) {
    if (taken)
      leave_queue(waiter, granted);
    taken = false;
  }
};

// Waits for a live lease. The first time round it joins the queue and looks again: the lease may have ended meanwhile.
bool wait_for_lease(const RungRequest &request, uint64 key, Attempt found, const Patience &patience, Place *place) {
  require_free_hands(request.name);
  if (!place->taken) {
    join_queue(key, &place->waiter);
    place->taken = true;
    return true;
  }
  if (patience.left() == 0)
    return false;
  sleep_for_wake(place->waiter, found.remaining_us, patience);
  return true;
}

} // namespace

bool take_rung(const RungRequest &request) {
  const uint64 key = key_of(request.name);
  if (!XactReadOnly)
    ensure_identity();
  const Patience patience = patience_of(request.patience_us);
  reserve_rung(key, request.name, request.shared, request.scope);
  Place place{};
  bool has_tag = false;
  for (bool waited = false;; waited = true) {
    if (place.taken)
      clear_wake();
    if (waited)
      require_hold_still(request.name);
    const Attempt found = attempt(request, key, has_tag);
    if (found.obstacle == Obstacle::none)
      break;
    if (has_tag) {
      at(Point::rung_refused);
      if (mutant("refused_rungs_linger"))
        holder_drop(key, mode_of(request.shared));
      wake_first(key);
    }
    has_tag = false;
    if (request.patience_us != 0)
      refuse_old_snapshot();
    bool goes_on = request.patience_us != 0;
    if (goes_on && found.obstacle == Obstacle::lease) {
      goes_on = wait_for_lease(request, key, found, patience, &place);
    } else if (goes_on) {
      place.leave(false);
      goes_on = wait_for(request, key, found, patience, &has_tag);
    }
    if (!goes_on) {
      place.leave(false);
      unreserve_rung(key, request.shared, request.scope);
      return false;
    }
  }
  // Before an error can come in between.
  note_touched(key);
  place.leave(true);
  // Until here the lock was the transaction's, so that no error leaves a session's behind.
  CHECK_FOR_INTERRUPTS();
  if (request.scope == RungScope::session)
    holder_keep_for_session(key, mode_of(request.shared));
  note_rung(key, request.shared, request.scope);
  note_holder_tag();
  return true;
}

void unlock_rung(LeaseName name, bool shared) {
  const uint64 key = key_of(name);
  reserve_rung(key, name, shared, RungScope::transaction);
  if (forget_session_rung(key, shared) && holder_give_back(key, mode_of(shared))) {
    note_touched(key);
    if (!mutant("unlocked_at_once")) {
      note_kept_rung();
      if (!mutant("kept_tag_prepared"))
        note_holder_tag();
    }
    return;
  }
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("this session holds no %s lock on \"%s\"", shared ? "shared" : "exclusive", printable(name)),
                  errhint("Behind a pooler in transaction mode the lock may be held by another server session; use a "
                          "transaction's lock or a lease there.")));
}

} // namespace gatepost
