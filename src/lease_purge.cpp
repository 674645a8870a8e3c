#include "lease.hpp"

#include "durability.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "lease_state.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "queue.hpp"
#include "slots.hpp"
#include "testpoint.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

// Since when the row has been over, 0 or more; -1: it is not.
int64 ended_for(const SlotData &row, const Moment &moment) {
  if (is_live(state_of(row, moment)) || (is_shut(row, moment) && !mutant("closed_names_purged")))
    return -1;
  if (row.boot == moment.boot)
    return Max(moment.now - row.deadline, 0);
  const Recovery base = recovery();
  if (!base.settled)
    return -1;
  const int64 end = row.state == stored::held && !row.superseded ? base.since + row.ttl : base.since;
  return Max(moment.now - end, 0);
}

int by_name(const ListCell *one, const ListCell *other) {
  return LeaseName{static_cast<text *>(lfirst(one))}.bytes().compare(
      LeaseName{static_cast<text *>(lfirst(other))}.bytes());
}

// Names whose rows seem to be over, in order: a semaphore's comes as often as it has rows. The scan may miscount under
// renewals; each is looked at again under its mutex.
List *candidates(const Slots &slots, int64 older_than, text *prefix) {
  List *names = NIL;
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  const Moment moment = this_moment();
  TableScanDesc scan = table_beginscan_strat(slots.heap, &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    const SlotData *data = slot_data(tuple);
    if (ended_for(*data, moment) < older_than)
      continue;
    const LeaseName name = slot_name_of(slots, tuple);
    if (has_prefix(name, prefix))
      names = lappend(names, cstring_to_text_with_len(name.bytes().data(), static_cast<int>(name.bytes().size())));
  }
  table_endscan(scan);
  list_sort(names, by_name);
  return names;
}

// Permits that have ended go as leases do, but for those in use, which still count. Result: how many; *left: whether
// any other row of a permit stays.
int64 purge_permits(const Slots &slots, const Queue &queue, LeaseName name, uint64 key, int64 older_than, bool *left) {
  List *over = NIL;
  SlotWalk walk;
  const Moment moment = this_moment();
  *left = false;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    if (!found->in_flight && found->has_row && ended_for(found->row, moment) >= older_than &&
        !is_turn_of_any(queue, key, found->row, moment) && slot_take(key, found->slot, SlotMode::grant, false)) {
      slot_drop(key, found->slot, SlotMode::grant);
      over = lappend_int(over, found->slot);
    } else {
      *left = true;
    }
  end_walk(&walk);
  int64 purged = 0;
  at(Point::purge_walked);
  ListCell *cell;
  foreach (cell, over) {
    const int32 slot = lfirst_int(cell);
    // A use may have begun without the mutex. From here to the end of the row none does.
    const bool tagged = slot_take(key, slot, SlotMode::grant, false);
    if (!tagged && !mutant("purge_asks_once")) {
      *left = true;
      continue;
    }
    if (tagged && mutant("purge_tag_probed"))
      slot_drop(key, slot, SlotMode::grant);
    at(Point::purge_tagged);
    const Look found = look(slots, name, slot);
    if (delete_slot(slots, found.row))
      purged++;
    else
      *left = true;
    if (tagged && !mutant("purge_tag_probed"))
      slot_drop(key, slot, SlotMode::grant);
  }
  return purged;
}

// The row of a lease, under the name's tag: while its token is in use it keeps the name a lease's, since permits go
// beside the uses of a name.
bool purge_lease(const Slots &slots, HeapTuple row, uint64 key) {
  const bool tagged = holder_try(key);
  if (!tagged && !mutant("used_leases_purged"))
    return false;
  const bool purged = delete_slot(slots, row);
  if (tagged)
    holder_release(key);
  return purged;
}

int64 purge(const Slots &slots, const Queue &queue, LeaseName name, int64 older_than) {
  const uint64 key = key_of(name);
  // The name is busy until this transaction ends. Before a row is deleted, so that no error comes in between.
  if (!mutant("purges_wake_nobody"))
    note_touched(key);
  mutex_lock(LockClass::mutex, key);
  const Look found = look(slots, name, 0);
  bool left = false;
  const bool semaphore = is_semaphore(found);
  int64 purged = semaphore ? purge_permits(slots, queue, name, key, older_than, &left) : 0;
  const Moment moment = this_moment();
  // The row that keeps a limit goes last.
  const bool over = found.row != nullptr && !found.in_flight && (!left || mutant("limits_purged")) &&
                    ended_for(*slot_data(found.row), moment) >= older_than &&
                    !is_turn_of_any(queue, key, *slot_data(found.row), moment);
  if (over && (semaphore ? delete_slot(slots, found.row) : purge_lease(slots, found.row, key)))
    purged++;
  mutex_unlock(LockClass::mutex, key);
  return purged;
}

} // namespace

int64 purge_leases(int64 older_than, text *prefix) {
  ensure_identity();
  purge_history(older_than, prefix);
  if (purge_queue(prefix))
    note_purge();
  Slots slots;
  open_slots(&slots, RowExclusiveLock, true, short_patience_us);
  Queue queue;
  open_queue(&queue, AccessShareLock);
  int64 purged = 0;
  List *names = candidates(slots, older_than, prefix);
  // A purge of a million names must not keep what it looked at.
  MemoryContext each = AllocSetContextCreate(CurrentMemoryContext, "gatepost purge", ALLOCSET_DEFAULT_SIZES);
  ListCell *cell;
  std::string_view last;
  foreach (cell, names) {
    CHECK_FOR_INTERRUPTS();
    const std::string_view name = LeaseName{static_cast<text *>(lfirst(cell))}.bytes();
    if (name == last)
      continue;
    last = name;
    const MemoryContext outer = MemoryContextSwitchTo(each);
    purged += purge(slots, queue, LeaseName{static_cast<text *>(lfirst(cell))}, older_than);
    MemoryContextSwitchTo(outer);
    MemoryContextReset(each);
  }
  MemoryContextDelete(each);
  close_queue(&queue);
  if (purged == 0) {
    close_slots(&slots);
    return 0;
  }
  close_slots_written(&slots);
  note_purge();
  return purged;
}

} // namespace gatepost
