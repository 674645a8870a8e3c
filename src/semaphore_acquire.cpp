#include "semaphore.hpp"

#include "durability.hpp"
#include "errors.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "lease_acquire.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "rules.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"
#include "waiting.hpp"

namespace gatepost {
namespace {

// A search for a free slot, under the name's mutex. It ends with the slot's tag held, or with none.
struct Search {
  const SemaphoreRequest &request;
  const Slots &slots;
  const uint64 key;
  const Waiter *waiter;
  const Moment moment;
  const int32 limit;

  int64 taken = 0;         // permits live or in flight, or not to be had yet
  int32 slot = 0;          // free, its tag is held; 0: none
  int32 same = 0;          // the slot of the same request
  int64 remaining_us = -1; // until the first live permit lapses
  bool held_back = false;  // something free is the first waiter's for a moment
  bool yields_known = false;
  bool yields = false;
  bool uses_known = false;
  bool uses = false;
  int64 highest = 0; // token seen
  // Whether the slots keep the count by themselves: only light permits up to the limit are live or asked for.
  bool slots_suffice = false;
  List *lapsed = NIL; // slots whose permits have lapsed and would still be good for a use, beyond the count

  bool heavy() const { return request.weight > 1; }
  bool full() const { return taken + request.weight > limit; }

  // What has just become free is the first waiter's: others count it as taken.
  bool left_to_first(const SlotVersions &found) {
    if (!found.has_row || !has_just_ended(found.row, moment))
      return false;
    if (!yields_known)
      yields = others_are_first(key, waiter);
    yields_known = true;
    held_back |= yields;
    return yields;
  }

  bool take_slot(int32 number) {
    if (slot != 0 || !slot_take(key, number, SlotMode::grant, false))
      return false;
    slot = number;
    return true;
  }

  void drop_slot() {
    if (slot != 0)
      slot_drop(key, slot, SlotMode::grant);
    slot = 0;
  }

  // Whether another transaction uses any token of the name.
  bool any_used() {
    if (!uses_known) {
      uses = !holder_take(key, HolderMode::shared, false);
      if (!uses)
        holder_drop(key, HolderMode::shared);
      uses_known = true;
    }
    return uses;
  }

  // A permit that has ended counts until the last transaction that uses it has ended too.
  bool is_used(const SlotVersions &found) {
    if (!found.has_row || found.slot == slot || !any_used() || mutant("used_permits_uncounted"))
      return false;
    // The rest cannot change the answer, and there may be ten thousand.
    if (slots_suffice && slot != 0)
      return false;
    if (found.row.weight == 1 && mutant("used_light_permits_uncounted"))
      return false;
    if (!slot_take(key, found.slot, SlotMode::grant, false))
      return true;
    slot_drop(key, found.slot, SlotMode::grant);
    return false;
  }

  // Of a slot that another transaction has in flight. Rolled back, a permit that has lapsed meanwhile would be good for
  // a use again, and it cannot be superseded now; whoever ends his own permit may have used it before.
  int64 weight_in_flight(const SlotVersions &found) {
    const int64 taken_now = found.weight_taken(moment);
    if (!found.has_row || mutant("returning_permits_uncounted"))
      return taken_now;
    const bool returns = state_of(found.row, moment) == State::lapsed;
    return returns || is_used(found) ? Max(taken_now, int64{found.row.weight}) : taken_now;
  }

  // Whether the request has the slot, as far as another transaction decides: it grants it, or gives it back.
  bool may_be_same(const SlotVersions &found) const {
    const auto has_it = [this](const SlotData &version) {
      return version.state == stored::held && same_request(request.grant, version);
    };
    return found.any_flight(has_it) || (found.has_row && has_it(found.row) && !mutant("own_returns_unseen") &&
                                        state_of(found.row, moment) == State::held);
  }

  void count(const SlotVersions &found, bool wanted) {
    if (found.has_row)
      highest = Max(highest, found.row.token);
    if (found.in_flight && may_be_same(found))
      refuse_in_flight(request.grant.name, kind::permit);
    if (found.in_flight) {
      taken += weight_in_flight(found);
      return;
    }
    if (found.is_shut(moment)) {
      taken += found.weight_taken(moment);
      const int64 remaining = shut_us(found.row, moment);
      remaining_us = remaining_us < 0 ? remaining : Min(remaining_us, remaining);
      if (same_request(request.grant, found.row) && state_of(found.row, moment) == State::held)
        same = found.slot;
      return;
    }
    if (left_to_first(found)) {
      taken += found.row.weight;
      return;
    }
    if (wanted && take_slot(found.slot))
      return;
    if (is_used(found))
      taken += found.row.weight;
    else if (!slots_suffice && state_of(found.row, moment) == State::lapsed)
      lapsed = lappend_int(lapsed, found.slot);
  }

  // Slots first to last; wanted: whether a free one from start on will do.
  void walk(int32 first, int32 last, int32 start, bool wanted, bool first_will_do) {
    int32 next = start;
    SlotWalk walk;
    begin_walk(&walk, slots, request.grant.name, first, last);
    const auto done = [&] { return (first_will_do && slot != 0) || is_over(); };
    while (const SlotVersions *found = done() ? nullptr : next_slot(&walk)) {
      // Slots that never had a row are free too.
      while (wanted && slot == 0 && next < found->slot)
        take_slot(next++);
      if (done())
        break;
      count(*found, wanted && found->slot >= start);
      next = Max(next, found->slot + 1);
    }
    end_walk(&walk);
    while (wanted && slot == 0 && next <= last && !full())
      take_slot(next++);
  }

  // Whether the rest cannot change the answer. Who waits wants to know when the first permit lapses; whoever asks
  // again, whether he has been answered already.
  bool is_over() const { return full() && waiter == nullptr && !has_request(request.grant); }

  void run() {
    // Permits above the limit: heavy ones, and those that a resize has left there. When none is live, what is live has
    // slots up to the limit, and while one of these is free fewer than the limit are.
    walk(limit + 1, last_slot, first_heavy_slot, heavy(), false);
    const bool none_above = taken == 0 || mutant("heavy_permits_unseen");
    slots_suffice = none_above && !heavy();
    walk(1, limit, 1, !heavy(), slots_suffice && !has_request(request.grant));
    if (full() && !mutant("permits_uncounted"))
      drop_slot();
  }

  // What has lapsed in a slot that is not granted again would come on top of what is granted now. Result: false when a
  // use has begun meanwhile.
  bool supersede_lapsed() const {
    ListCell *cell;
    foreach (cell, lapsed) {
      const int32 number = lfirst_int(cell);
      if (mutant("lapsed_permits_kept"))
        continue;
      if (!slot_take(key, number, SlotMode::grant, false))
        return false;
      end_use_of(request.grant.name, slot_data(look(slots, request.grant.name, number).row)->token);
      mark_superseded(slots, request.grant.name, number);
      slot_drop(key, number, SlotMode::grant);
    }
    return true;
  }
};

[[noreturn]] void refuse_limit(const SemaphoreRequest &request, int32 stored) {
  ereport(ERROR, (errcode(permits_mismatch),
                  errmsg("the number of permits of semaphore \"%s\" is %d, not %d", printable(request.grant.name),
                         stored, request.permits),
                  errhint("Change the number with gatepost.semaphore_resize().")));
}

// The limit that counts, 0 when it is not settled. Raises LG009.
int32 settle_limit(const SemaphoreRequest &request, const Look &first) {
  const Limit stored = limit_of(request.grant.name, first);
  if (stored.permits <= 0)
    return stored.permits == 0 ? request.permits : 0;
  const int32 settled = first.row != nullptr ? slot_data(first.row)->weight : 0;
  const int32 flying = first.flight != nullptr ? slot_data(first.flight)->weight : 0;
  if (request.permits == settled || request.permits == flying || mutant("limits_uncompared"))
    return stored.permits;
  if (!stored.written)
    return 0;
  refuse_limit(request, settled);
}

SlotData limit_row(const SemaphoreRequest &request) {
  const Moment moment = this_moment();
  const TimestampTz now = GetCurrentTimestamp();
  SlotData data{};
  data.deadline = moment.now;
  data.boot = moment.boot;
  data.acquired_at = data.renewed_at = now;
  data.role = GetUserId();
  data.pid = MyProcPid;
  data.weight = request.permits;
  data.kind = kind::semaphore;
  data.state = stored::released;
  return data;
}

// What one try came to.
struct PermitTry {
  int64 token;        // 0: not so many are free
  int64 remaining_us; // until the first permit lapses; 0: something is free but not to be had yet; -1: unknown
  int64 superseded;   // the token that was granted for the slot before
};

PermitTry again(const SemaphoreRequest &request, const Slots &slots, int32 slot, bool *written) {
  const Look found = look(slots, request.grant.name, slot);
  const int32 weight = slot_data(found.row)->weight;
  if (weight != request.weight && !mutant("weights_uncompared"))
    ereport(ERROR,
            (errcode(permits_mismatch), errmsg("the permit of this request_id of semaphore \"%s\" weighs %d, not %d",
                                               printable(request.grant.name), weight, request.weight)));
  // Written once more, since only the commit of a write waits for a standby.
  if (standby_asked() && !mutant("permit_retries_unwritten"))
    *written = update_slot(slots, found.row, *slot_data(found.row));
  return {slot_data(found.row)->token, -1, 0};
}

// The look and the grant under the mutex. A semaphore's "busy" is only said here: permits come and go beside each
// other, and a count without the mutex may miss one that was free all the time.
PermitTry grant(const Slots &slots, Relation history, Oid sequence, const SemaphoreRequest &request, uint64 key,
                const Waiter *waiter, bool *written) {
  const LeaseName name = request.grant.name;
  const Look first = look(slots, name, 0);
  const int32 limit = settle_limit(request, first);
  // A limit that is being purged would be gone, and no other could be written yet.
  const bool purged = first.going || (first.row != nullptr && first.in_flight && first.flight == nullptr);
  if (limit == 0 || (purged && !mutant("purged_limits_count")))
    return {0, -1, 0};
  Search search{request, slots, key, waiter, this_moment(), limit};
  search.run();
  if (search.same != 0) {
    search.drop_slot();
    return again(request, slots, search.same, written);
  }
  if (search.slot == 0)
    return {0, search.held_back ? 0 : search.remaining_us, 0};
  at(Point::acquire_mutexed);
  // Before the row is written, so that no error comes in between. Who is refused wakes nobody.
  note_touched(key);
  // A name's tag held elsewhere is a rung.
  if (!holder_take(key, HolderMode::use, false)) {
    search.drop_slot();
    return {0, mutant("rungs_polled") ? 0 : -1, 0};
  }
  if (!search.supersede_lapsed()) {
    holder_drop(key, HolderMode::use);
    search.drop_slot();
    return {0, 0, 0};
  }
  at(Point::acquire_tagged);
  const HeapTuple old = look(slots, name, search.slot).row;
  const int64 token = draw_above(sequence, Max(search.highest, old != nullptr ? slot_data(old)->token : 0));
  *written = write_grant(slots, history, request.grant, {kind::permit, search.slot, request.weight}, old, token);
  if (*written && first.row == nullptr && !first.in_flight)
    insert_slot(slots, limit_row(request), SlotText{name, nullptr, nullptr, nullptr});
  at(Point::acquire_written);
  holder_drop(key, HolderMode::use);
  if (*written)
    remember_permit(token, search.slot);
  search.drop_slot();
  return {*written ? token : 0, -1, old != nullptr ? slot_data(old)->token : 0};
}

PermitTry try_permit(const SemaphoreRequest &request, uint64 key, const Waiter *waiter) {
  if (waiter != nullptr)
    require_hold_still(request.grant.name);
  Slots slots;
  open_slots(&slots, RowExclusiveLock, true, short_patience_us);
  const Oid sequence = lock_sequence();
  const Relation history = open_history();
  bool written = false;
  mutex_lock(LockClass::mutex, key);
  const PermitTry result = grant(slots, history, sequence, request, key, waiter, &written);
  mutex_unlock(LockClass::mutex, key);
  if (!written) {
    close_history(history);
    unlock_sequence(sequence);
    close_slots(&slots);
    return result;
  }
  close_history_written(history, result.token);
  close_slots_written(&slots);
  if (!mutant("permits_unflushed"))
    note_durable_change();
  if (result.superseded != 0)
    end_use_of(request.grant.name, result.superseded);
  flush_tokens(sequence, result.token);
  unlock_sequence(sequence);
  return result;
}

int64 wait_for_permit(const SemaphoreRequest &request, uint64 key) {
  const Patience patience = patience_of(request.grant.wait);
  Waiter waiter;
  join_queue(key, &waiter);
  PermitTry result;
  for (;;) {
    clear_wake();
    result = forgetful([&] { return try_permit(request, key, &waiter); });
    if (result.token != 0 || patience.left() == 0)
      break;
    sleep_for_wake(waiter, result.remaining_us == 0 ? moment_us : result.remaining_us, patience);
  }
  leave_queue(waiter, result.token != 0);
  // Other permits may be free for the next.
  if (result.token != 0 && waiter.placed && !mutant("one_permit_a_wake"))
    wake_first(key);
  return result.token;
}

} // namespace

int64 acquire_permit(const SemaphoreRequest &request) {
  ensure_identity();
  refuse_own_session_rung(request.grant.name);
  const uint64 key = key_of(request.grant.name);
  const PermitTry first = try_permit(request, key, nullptr);
  if (first.token != 0 || request.grant.wait == 0)
    return first.token;
  refuse_old_snapshot();
  require_free_hands(request.grant.name, kind::permit);
  return wait_for_permit(request, key);
}

} // namespace gatepost
