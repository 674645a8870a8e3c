#include "late_calls.hpp"

#include "clock.hpp"
#include "mutant.hpp"
#include "queue.hpp"

namespace gatepost {
namespace {

struct Freed {
  uint64 key;
  SubTransactionId subtransaction;
  int64 looked; // monotonic clock
};

// Who waits for more names than these asks again by himself.
constexpr int most_freed = 512;
Freed freed[most_freed];
int freed_count;

// A commit that comes as soon as this is as good as a look.
constexpr int64 at_once_us = 1000;

bool any_late(int64 now) {
  for (int i = 0; i < freed_count; i++)
    if (now - freed[i].looked >= at_once_us)
      return true;
  return false;
}

void call_late() {
  Queue queue;
  // This transaction may have dropped the extension.
  if ((!has_queue() && !mutant("dropped_queue_asked")) || !try_open_queue(&queue, AccessShareLock, 0))
    return;
  // For long values.
  PushActiveSnapshot(GetTransactionSnapshot());
  for (int i = 0; i < freed_count; i++)
    if (calls_outside(queue, freed[i].key))
      notify_outside(freed[i].key);
  PopActiveSnapshot();
  close_queue(&queue);
}

void on_transaction(XactEvent event, void *) {
  switch (event) {
  case XACT_EVENT_PRE_COMMIT:
    if (freed_count > 0 && any_late(monotonic_us()) && !mutant("freed_looked_once"))
      call_late();
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

void note_freed(uint64 key) {
  const SubTransactionId here = GetCurrentSubTransactionId();
  for (int i = freed_count - 1; i >= 0; i--)
    if (freed[i].key == key && freed[i].subtransaction == here)
      return;
  if (freed_count < most_freed)
    freed[freed_count++] = {key, here, monotonic_us()};
}

void register_late_calls() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
