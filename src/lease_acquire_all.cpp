#include "durability.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "lease_acquire.hpp"
#include "lease_many.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "rules.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"
#include "waiting.hpp"

#include <algorithm>

namespace gatepost {
namespace {

struct Wanted {
  LeaseName name;
  uint64 key;
  int place; // in the caller's list
  int64 token;
};

struct All {
  Wanted
      *wanted; // in order of (key, name): of two calls that meet, the one that is first at the first common name wins
  int count;
  AcquireRequest request;
  MemoryContext each; // reset after each name

  AcquireRequest request_for(int i) const {
    AcquireRequest one = request;
    one.name = wanted[i].name;
    return one;
  }
};

// What a look at all, or a try, came to.
struct Outcome {
  int busy;      // -1: none
  int64 shut_us; // until the busy one is open, as far as the look can tell; -1: unknown
  bool same;     // the caller's own grants asked for again, all of them
  bool toast;    // a row reaches into the toast table
};

bool before(const Wanted &a, const Wanted &b) {
  return a.key != b.key ? a.key < b.key : a.name.bytes() < b.name.bytes();
}

// Takes no lock that anyone waits for; its "busy" is good without the mutexes.
Outcome look_at_all(const All &all) {
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  SlotReader reader;
  open_reader(&reader, slots);
  Outcome outcome{-1, -1, true, all.request.metadata != nullptr};
  for (int i = 0; i < all.count && outcome.busy < 0; i++) {
    CHECK_FOR_INTERRUPTS();
    const MemoryContext outer = MemoryContextSwitchTo(all.each);
    const Look found = look(&reader, all.wanted[i].name, lock_slot);
    const Moment moment = this_moment();
    const Verdict verdict = judge(all.request_for(i), found, moment);
    if (verdict == Verdict::busy) {
      outcome.busy = i;
      if (found.row != nullptr && !found.in_flight)
        outcome.shut_us = shut_us(*slot_data(found.row), moment);
    }
    if (verdict == Verdict::same)
      all.wanted[i].token = slot_data(found.row)->token;
    outcome.same &= verdict == Verdict::same;
    outcome.toast |= stored_long(found.row);
    MemoryContextSwitchTo(outer);
    MemoryContextReset(all.each);
  }
  close_reader(&reader);
  close_slots(&slots);
  return outcome;
}

struct Targets {
  Slots slots;
  Queue queue;
  Oid sequence;
  Relation history;
};

// One mutex at a time, and no wait inside any: two calls cannot be in each other's way for ever. Result: the first that
// is busy, -1 when all were taken.
int take_each(const All &all, const Targets &targets, const Waiter *waiter) {
  for (int i = 0; i < all.count; i++) {
    CHECK_FOR_INTERRUPTS();
    const MemoryContext outer = MemoryContextSwitchTo(all.each);
    Wanted &wanted = all.wanted[i];
    bool written = false;
    const Waiter *here = waiter != nullptr && waiter->key == wanted.key ? waiter : nullptr;
    note_touched(wanted.key);
    mutex_lock(LockClass::mutex, wanted.key);
    wanted.token = grant_lease({targets.slots, targets.queue, targets.history, targets.sequence}, all.request_for(i),
                               Look{}, wanted.key, here, &written)
                       .token;
    if (!mutant("mutexes_kept"))
      mutex_unlock(LockClass::mutex, wanted.key);
    if (written) {
      if (!mutant("all_unflushed"))
        note_durable_change();
      if (token_in_use(wanted.name.bytes()) != wanted.token)
        end_use(wanted.name);
    }
    MemoryContextSwitchTo(outer);
    MemoryContextReset(all.each);
    if (wanted.token == 0)
      return i;
    at(Point::all_took_one);
  }
  return -1;
}

// Inside a subtransaction, which is rolled back on the first that is busy.
int take_all_or_none(const All &all, const Targets &targets, const Waiter *waiter) {
  const MemoryContext context = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  volatile int busy = -1;
  ErrorData *volatile report = nullptr;
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  { busy = take_each(all, targets, waiter); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    report = CopyErrorData();
    FlushErrorState();
  }
  PG_END_TRY();
  if (report == nullptr && (busy < 0 || mutant("all_taken_in_part")))
    ReleaseCurrentSubTransaction();
  else
    RollbackAndReleaseCurrentSubTransaction();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  if (report != nullptr)
    ReThrowError(report);
  return busy;
}

Outcome try_all(const All &all, const Waiter *waiter) {
  for (int i = 0; waiter != nullptr && i < all.count; i++)
    require_hold_still(all.wanted[i].name);
  Outcome outcome = look_at_all(all);
  if ((outcome.busy >= 0 && !mutant("refused_tries_write")) ||
      (outcome.same && (!standby_asked() || mutant("all_retries_unwritten"))))
    return outcome;
  at(Point::acquire_looked);
  Targets targets;
  open_slots(&targets.slots, RowExclusiveLock, outcome.toast, short_patience_us);
  targets.sequence = lock_sequence();
  targets.history = open_history();
  const LOCKMODE queue_mode = has_request(all.request) ? RowExclusiveLock : AccessShareLock;
  open_queue(&targets.queue, queue_mode);
  outcome = {take_all_or_none(all, targets, waiter), -1, false, false};
  if (outcome.busy >= 0 && !mutant("all_taken_in_part")) {
    close_queue(&targets.queue);
    close_history(targets.history);
    unlock_sequence(targets.sequence);
    close_slots(&targets.slots);
    return outcome;
  }
  int64 last = 0;
  for (int i = 0; i < all.count; i++)
    last = Max(last, all.wanted[i].token);
  queue_mode == AccessShareLock ? close_queue(&targets.queue) : close_queue_written(&targets.queue);
  close_history_written(targets.history, last);
  close_slots_written(&targets.slots);
  if (!mutant("tokens_of_all_unflushed"))
    flush_tokens(targets.sequence, last);
  unlock_sequence(targets.sequence);
  return outcome;
}

// In the queue of the one name that was busy, holding nothing: it leaves one queue before it joins another.
Outcome wait_for_all(const All &all, int busy) {
  const Patience patience = patience_of(all.request.wait);
  Waiter waiter;
  join_queue(all.wanted[busy].key, &waiter);
  for (;;) {
    clear_wake();
    const Outcome outcome = forgetful([&] { return try_all(all, &waiter); });
    if (outcome.busy < 0 || patience.left() == 0) {
      leave_queue(waiter, outcome.busy < 0);
      return outcome;
    }
    const uint64 key = all.wanted[outcome.busy].key;
    if (key == waiter.key) {
      sleep_for_wake(waiter, outcome.shut_us == 0 ? moment_us : outcome.shut_us, patience);
      continue;
    }
    if (!mutant("queues_kept"))
      leave_queue(waiter, false);
    join_queue(key, &waiter);
  }
}

} // namespace

bool acquire_all(const LeaseName *names, int count, const AcquireRequest &request, int64 *tokens) {
  ensure_identity();
  All all{static_cast<Wanted *>(palloc(sizeof(Wanted) * count)), count, request,
          AllocSetContextCreate(CurrentMemoryContext, "gatepost each lease", ALLOCSET_DEFAULT_SIZES)};
  for (int i = 0; i < count; i++) {
    refuse_own_session_rung(names[i]);
    all.wanted[i] = {names[i], key_of(names[i]), i, 0};
  }
  if (!mutant("all_in_callers_order"))
    std::sort(all.wanted, all.wanted + count, before);
  Outcome outcome = try_all(all, nullptr);
  if (outcome.busy >= 0 && request.wait > 0) {
    refuse_old_snapshot();
    require_free_hands(all.wanted[outcome.busy].name);
    outcome = wait_for_all(all, outcome.busy);
  }
  MemoryContextDelete(all.each);
  for (int i = 0; i < count; i++)
    tokens[all.wanted[i].place] = all.wanted[i].token;
  return outcome.busy < 0;
}

} // namespace gatepost
