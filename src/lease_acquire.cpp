#include "lease.hpp"

#include "clock.hpp"
#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "lease_acquire.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue.hpp"
#include "rules.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"
#include "waiting.hpp"

namespace gatepost {

Try grant_lease(const GrantTables &tables, const AcquireRequest &request, const Look &first, uint64 key,
                const Waiter *waiter, bool *written) {
  const Slots &slots = tables.slots;
  const Look found = mutant("first_look_believed") ? first : look(slots, request.name, lock_slot);
  switch (judge(request, found, this_moment())) {
  case Verdict::busy:
    return {0, -1};
  case Verdict::same:
    // Written once more: the commit that granted may have been cancelled while it waited for a standby, and only the
    // commit of a write waits again.
    *written = update_slot(slots, found.row, *slot_data(found.row));
    return {*written ? slot_data(found.row)->token : 0, -1};
  case Verdict::free:
    break;
  }
  const int64 turn_us = turn_of_another(tables.queue, request, key, waiter, found.row, this_moment());
  if (turn_us > 0)
    return {0, turn_us};
  at(Point::acquire_mutexed);
  // A tag held elsewhere is a use or a rung: the name is not free, whatever its row says.
  const bool tagged = holder_try(key);
  if (!tagged && !mutant("grants_beside_uses"))
    return {0, -1};
  if (mutant("tag_probed"))
    holder_release(key);
  at(Point::acquire_tagged);
  const int64 token = draw_above(tables.sequence, found.row);
  *written = write_grant(slots, tables.history, request, whole_lease, found.row, token);
  if (*written)
    delete_place(tables.queue, request, key);
  at(Point::acquire_written);
  if (tagged && !mutant("tag_probed"))
    holder_release(key);
  return {*written ? token : 0, -1};
}

namespace {

Try busy(const Look &found) {
  return {0, found.row == nullptr || found.in_flight ? -1 : shut_us(*slot_data(found.row), this_moment())};
}

Try try_lease(const AcquireRequest &request, uint64 key, const Waiter *waiter) {
  if (waiter != nullptr)
    require_hold_still(request.name);
  // Most who ask are refused: that look takes no lock that anyone waits for, and its "busy" is good without the mutex.
  Slots slots;
  open_slots_to_peek(&slots);
  const Look first = look(slots, request.name, lock_slot);
  const Verdict verdict = judge(request, first, this_moment());
  close_slots(&slots);
  if (verdict == Verdict::busy && !mutant("refused_tries_write"))
    return busy(first);
  if (verdict == Verdict::same && (!standby_asked() || mutant("retries_unwritten")))
    return {slot_data(first.row)->token, -1};
  at(Point::acquire_looked);

  const bool toast = request.metadata != nullptr || stored_long(first.row);
  open_slots(&slots, RowExclusiveLock, toast, short_patience_us);
  const Oid sequence = lock_sequence();
  const Relation history = open_history();
  // Only a request that has an id can have a place to delete.
  Queue queue;
  open_queue(&queue, has_request(request.request_id) ? RowExclusiveLock : AccessShareLock);
  bool written = false;
  // Before the row is written, so that no error comes in between.
  note_touched(key);
  mutex_lock(LockClass::mutex, key);
  const Try result = grant_lease({slots, queue, history, sequence}, request, first, key, waiter, &written);
  mutex_unlock(LockClass::mutex, key);
  if (!written) {
    close_queue(&queue);
    close_history(history);
    unlock_sequence(sequence);
    close_slots(&slots);
    return result;
  }
  const int64 token = result.token;
  queue.mode == AccessShareLock ? close_queue(&queue) : close_queue_written(&queue);
  close_history_written(history, token);
  close_slots_written(&slots);
  note_durable_change();
  // The same grant asked for again supersedes nothing.
  if (token_in_use(request.name.bytes()) != token)
    end_use(request.name);
  flush_tokens(sequence, token);
  unlock_sequence(sequence);
  return {token, -1};
}

int64 wait_for_lease(const AcquireRequest &request, uint64 key, void (*before_look)(), void (*after_look)()) {
  const Patience patience = patience_of(request.wait);
  const int64 began = mutant("ttl_from_the_call") ? boottime_us() : 0;
  Waiter waiter;
  join_queue(key, &waiter);
  Try result;
  for (;;) {
    clear_wake();
    before_look();
    AcquireRequest now = request;
    if (mutant("ttl_from_the_call"))
      now.ttl -= boottime_us() - began;
    result = forgetful([&] { return try_lease(now, key, &waiter); });
    after_look();
    if (result.token != 0 || patience.left() == 0)
      break;
    at(Point::wait_looked);
    if (mutant("latch_cleared_late"))
      clear_wake();
    sleep_for_wake(waiter, result.remaining_us == 0 ? moment_us : result.remaining_us, patience);
  }
  leave_queue(waiter, result.token != 0);
  return result.token;
}

void do_nothing() {}

void take_snapshot() { PushActiveSnapshot(GetTransactionSnapshot()); }

void drop_snapshot() {
  if (mutant("waits_with_snapshot"))
    return;
  PopActiveSnapshot();
  InvalidateCatalogSnapshotConditionally();
}

} // namespace

int64 acquire_lease(const AcquireRequest &request) {
  ensure_identity();
  refuse_own_session_rung(request.name);
  const uint64 key = key_of(request.name);
  const Try first = try_lease(request, key, nullptr);
  if (first.token != 0 || request.wait == 0)
    return first.token;
  refuse_old_snapshot();
  require_free_hands(request.name);
  return wait_for_lease(request, key, do_nothing, do_nothing);
}

int64 acquire_lease_between_transactions(const AcquireRequest &request) {
  ensure_identity();
  refuse_own_session_rung(request.name);
  return wait_for_lease(request, key_of(request.name), take_snapshot, drop_snapshot);
}

} // namespace gatepost
