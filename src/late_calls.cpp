#include "late_calls.hpp"

#include "clock.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue.hpp"
#include "slot_walk.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

struct Freed {
  uint64 key;
  SubTransactionId subtransaction;
  LeaseName name; // in TopTransactionContext
  int64 since;    // monotonic clock; 0: nobody has looked yet
  bool called;
};

// For more names than these the look at the call has to do.
constexpr int most_freed = 512;
Freed freed[most_freed];
int freed_count;

// A commit that comes as soon as this is as good as another look.
constexpr int64 at_once_us = 1000;

bool any_late(int64 now) {
  for (int i = 0; i < freed_count; i++)
    if (now - freed[i].since >= at_once_us)
      return true;
  return false;
}

// The slots of the name that this transaction has freed; an integer list.
List *freed_slots(const Slots &slots, LeaseName name) {
  List *numbers = NIL;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 0, PG_INT32_MAX);
  while (const SlotVersions *found = next_slot(&walk))
    if (found->has_row && found->own_change && found->row.state != stored::held && found->row.kind != kind::semaphore)
      numbers = lappend_int(numbers, found->slot);
  end_walk(&walk);
  return numbers;
}

void begin_turn(const Slots &slots, const Freed &what) {
  // A stopped backend must not keep the commit from others.
  constexpr int64 patience_us = 10 * 1000;
  if (mutant("turns_from_the_call") || !mutex_try(LockClass::mutex, what.key, patience_us))
    return;
  const Moment moment = this_moment();
  ListCell *cell;
  foreach (cell, freed_slots(slots, what.name)) {
    const Look found = look(slots, what.name, lfirst_int(cell));
    SlotData data = copy_of(found.row);
    data.deadline = moment.now;
    data.boot = moment.boot;
    update_slot(slots, found.row, data);
  }
  mutex_unlock(LockClass::mutex, what.key);
}

void look_late() {
  // This transaction may have dropped the extension.
  if (!has_queue() && !mutant("dropped_queue_asked"))
    return;
  Queue queue;
  Slots slots;
  if (!try_open_queue(&queue, AccessShareLock, 0))
    return;
  if (!try_open_slots(&slots, RowExclusiveLock, false, 0))
    return close_queue(&queue);
  // For long values.
  PushActiveSnapshot(GetTransactionSnapshot());
  for (int i = 0; i < freed_count; i++) {
    const Freed &what = freed[i];
    const bool outside = calls_outside(queue, what.key);
    if (outside && !what.called)
      notify_outside(what.key);
    if (outside || others_wait(what.key))
      begin_turn(slots, what);
  }
  PopActiveSnapshot();
  close_slots(&slots);
  close_queue(&queue);
}

void on_transaction(XactEvent event, void *) {
  switch (event) {
  case XACT_EVENT_PRE_COMMIT:
    if (freed_count > 0 && any_late(monotonic_us()) && !mutant("freed_looked_once"))
      look_late();
    break;
  case XACT_EVENT_COMMIT:
  case XACT_EVENT_ABORT:
  case XACT_EVENT_PREPARE:
    freed_count = 0;
    break;
  default:
    break;
  }
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *) {
  if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
    return;
  int kept = 0;
  for (int i = 0; i < freed_count; i++) {
    if (freed[i].subtransaction == mine) {
      if (event == SUBXACT_EVENT_ABORT_SUB && !mutant("rolled_back_releases_call"))
        continue;
      freed[i].subtransaction = parent;
    }
    freed[kept++] = freed[i];
  }
  freed_count = kept;
}

} // namespace

void note_freed(uint64 key, LeaseName name, bool looked, bool called) {
  if (freed_count == most_freed)
    return;
  const SubTransactionId here = GetCurrentSubTransactionId();
  for (int i = freed_count - 1; i >= 0; i--)
    if (freed[i].key == key && freed[i].subtransaction == here) {
      freed[i].called |= called;
      if (!looked)
        freed[i].since = 0;
      return;
    }
  const auto bytes = name.bytes();
  const MemoryContext outer = MemoryContextSwitchTo(TopTransactionContext);
  const LeaseName copy{cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size()))};
  MemoryContextSwitchTo(outer);
  freed[freed_count++] = {key, here, copy, looked ? monotonic_us() : 0, called};
}

void register_late_calls() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
