#include "semaphore.hpp"

#include "durability.hpp"
#include "errors.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "rights.hpp"
#include "waiters.hpp"

namespace gatepost {

Limit limit_of(LeaseName name, const Look &first) {
  const HeapTuple row = first.row != nullptr ? first.row : first.flight;
  if (row == nullptr)
    return {0, false};
  if (slot_data(row)->kind == kind::lock && (first.row != nullptr || mutant("kind_in_flight_believed")))
    ereport(ERROR, (errcode(wrong_kind), errmsg("\"%s\" is a lease, not a semaphore", printable(name))));
  if (slot_data(row)->kind == kind::lock || becomes_lease(first))
    return {-1, false};
  const int32 permits = slot_data(row)->weight;
  if (first.flight == nullptr || mutant("resize_in_flight_unseen"))
    return {permits, first.row != nullptr};
  return {Min(permits, slot_data(first.flight)->weight), first.row != nullptr};
}

int64 count_permits(const Slots &slots, LeaseName name, const Moment &moment) {
  int64 taken = 0;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    taken += found->weight_taken(moment);
  end_walk(&walk);
  return taken;
}

bool resize_semaphore(LeaseName name, int32 permits) {
  ensure_identity();
  Slots slots;
  open_slots(&slots, RowExclusiveLock, false, short_patience_us);
  const uint64 key = key_of(name);
  mutex_lock(LockClass::mutex, key);
  const Look first = look(slots, name, 0);
  if (first.in_flight)
    refuse_in_flight(name, first);
  if (limit_of(name, first).permits == 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no semaphore \"%s\"", printable(name)),
                    errhint("The first semaphore_acquire makes it.")));
  if (!is_administrator())
    require_member(*slot_data(first.row), name);
  SlotData data = copy_of(first.row);
  const bool changed = data.weight != permits;
  if (changed) {
    // Before the row is written, so that no error comes in between.
    note_touched(key);
    const Moment moment = this_moment();
    data.weight = permits;
    data.deadline = moment.now;
    data.boot = moment.boot;
    data.renewed_at = GetCurrentTimestamp();
    if (!update_slot(slots, first.row, data))
      refuse_in_flight(name, data.kind);
  }
  mutex_unlock(LockClass::mutex, key);
  changed ? close_slots_written(&slots) : close_slots(&slots);
  if (changed && !mutant("resizes_unflushed"))
    note_durable_change();
  return changed;
}

} // namespace gatepost
