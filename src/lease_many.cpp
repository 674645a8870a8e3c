#include "lease_many.hpp"

#include "clock.hpp"
#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "held.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "queue.hpp"
#include "testpoint.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

// No call keeps a mutex for long; a stopped backend that does must not keep the other leases from being renewed.
constexpr int64 mutex_patience_us = 200 * 1000;

// Whether the caller is a member of the role that took the lease.
bool is_own(const SlotData &row) { return has_privs_of_role(GetUserId(), row.role) || mutant("roles_unchecked"); }

void tell(HeldLease *lease, Told told, const char *detail) {
  lease->told = told;
  lease->detail = detail;
}

// What is to be told where nothing was changed. Whoever may not know the lease is told what an absent one would tell.
void tell_why(const Slots &slots, HeldLease *lease, const Look &found, const Moment &moment) {
  const bool owns = (found.row != nullptr && is_own(*slot_data(found.row))) ||
                    ((found.row == nullptr || !mutant("own_flights_unknown")) && any_flight(found, is_own));
  const bool knows_permits = found.row == nullptr && found.flight == nullptr && found.permits &&
                             (latest_permit(slots, lease->name, true) != 0 || mutant("strangers_told_of_permits"));
  if (!owns && !knows_permits)
    return tell(lease, Told::lost, "unknown");
  const char *status = status_of(slots, lease->name, found, lease->token, moment);
  if (strcmp(status, "in_flight") == 0) {
    if (mutant("one_fails_all"))
      refuse_in_flight(lease->name);
    return tell(lease, Told::in_flight, nullptr);
  }
  tell(lease, Told::lost, status);
}

// The yield that is asked for outlives the row that it was read from.
void tell_yield(HeldLease *lease, const SlotData &row, MemoryContext memory) {
  if (!row.yield_asked || mutant("yield_untold"))
    return;
  const char *reason = NameStr(row.yield_reason);
  tell(lease, Told::yield, reason[0] != '\0' ? MemoryContextStrdup(memory, reason) : nullptr);
}

struct Batch {
  Slots slots;
  SlotReader reader;
  Queue queue;
  bool frees;
  bool tells;           // who waits outside the server
  MemoryContext each;   // reset after each lease
  MemoryContext result; // of what is told
  int64 deadline;       // monotonic: until then mutexes are waited for; 0: not at all
};

// Under the mutex. Result: whether the row was changed.
template <class Change> bool change_row(Batch *batch, HeldLease *lease, Point point, Change change) {
  const Look found = look_for(&batch->reader, batch->slots, lease->name, lease->token);
  at(point);
  const Moment moment = this_moment();
  SlotData *row = found.row != nullptr ? slot_data(found.row) : nullptr;
  if (row == nullptr || found.in_flight || row->token != lease->token || !is_own(*row) || !may_change(*row, moment)) {
    tell_why(batch->slots, lease, found, moment);
    return false;
  }
  change(row, moment);
  if (!update_found(batch->slots, found.row)) {
    tell(lease, Told::in_flight, nullptr);
    return false;
  }
  if (point == Point::renew_mutexed)
    tell_yield(lease, *row, batch->result);
  return true;
}

// Result: whether the mutex was had.
template <class Change> bool change_one(Batch *batch, HeldLease *lease, Point point, Change change, bool *changed) {
  CHECK_FOR_INTERRUPTS();
  const MemoryContext outer = MemoryContextSwitchTo(batch->each);
  const uint64 key = key_of(lease->name);
  const int64 patience = batch->deadline == 0 ? 0 : Max(batch->deadline - monotonic_us(), 0);
  if (mutant("mutexes_awaited"))
    mutex_lock(LockClass::mutex, key);
  const bool had = mutex_try(LockClass::mutex, key, patience);
  if (had) {
    note_touched(key);
    const bool here = change_row(batch, lease, point, change);
    OutsideCall call{lease->name, key, batch->queue, batch->frees, batch->tells, false};
    if (here)
      look_outside(&call);
    if (!mutant("mutexes_kept"))
      mutex_unlock(LockClass::mutex, key);
    if (call.called)
      notify_outside(key);
    *changed |= here;
  }
  MemoryContextSwitchTo(outer);
  MemoryContextReset(batch->each);
  return had;
}

void open_batch(Batch *batch, const HeldLease *leases, int count, bool frees) {
  auto *names = static_cast<LeaseName *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(LeaseName) * count));
  auto *tokens = static_cast<int64 *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * count));
  for (int i = 0; i < count; i++) {
    names[i] = leases[i].name;
    tokens[i] = leases[i].token;
  }
  open_slots_for_holders(&batch->slots, names, tokens, count);
  pfree(names);
  pfree(tokens);
  open_reader(&batch->reader, batch->slots);
  batch->frees = frees;
  batch->tells = frees && try_open_queue(&batch->queue, AccessShareLock, 0);
  batch->result = CurrentMemoryContext;
  batch->each = AllocSetContextCreate(CurrentMemoryContext, "gatepost each lease", ALLOCSET_DEFAULT_SIZES);
  batch->deadline = 0;
}

void close_batch(Batch *batch, bool changed) {
  close_reader(&batch->reader);
  if (batch->tells)
    close_queue(&batch->queue);
  MemoryContextDelete(batch->each);
  if (!changed)
    return close_slots(&batch->slots);
  // The next change of these rows may come in the same statement.
  CommandCounterIncrement();
  close_slots_written(&batch->slots);
}

// Changes them one after the other, each under its mutex. Change: (SlotData *, const Moment &). Result: whether any row
// was changed.
template <class Change> bool change_all(HeldLease *leases, int count, Point point, Change change) {
  ensure_identity();
  Batch batch;
  open_batch(&batch, leases, count, point == Point::release_mutexed);
  bool changed = false;
  auto *late = static_cast<HeldLease **>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HeldLease *) * count));
  int late_count = 0;
  for (int i = 0; i < count; i++)
    if (leases[i].told == Told::nothing && !change_one(&batch, &leases[i], point, change, &changed))
      late[late_count++] = &leases[i];
  batch.deadline = monotonic_us() + mutex_patience_us;
  for (int i = 0; i < late_count; i++)
    if (!change_one(&batch, late[i], point, change, &changed))
      tell(late[i], Told::in_flight, nullptr);
  pfree(late);
  close_batch(&batch, changed);
  return changed;
}

} // namespace

void renew_leases(HeldLease *leases, int count, int64 ttl) {
  if (change_all(leases, count, Point::renew_mutexed,
                 [ttl](SlotData *row, const Moment &moment) { renew(row, ttl, moment); }))
    note_durable_change();
}

void release_leases(HeldLease *leases, int count) {
  begin_release();
  if (change_all(leases, count, Point::release_mutexed, release))
    end_release();
}

} // namespace gatepost
