#include "waiters.hpp"

#include "locks.hpp"
#include "mutant.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

// What waking costs those who have nobody to wake is measured beside a build without it.
#ifdef GATEPOST_UNWOKEN
constexpr bool wakes_anybody = false;
#else
constexpr bool wakes_anybody = true;
#endif

struct Touched {
  uint64 key;
  SubTransactionId subtransaction;
  bool due; // its subtransaction has been rolled back
};

constexpr int most_touched = 512;
Touched touched[most_touched];
int touched_count;
bool any_due;

// What finding a queue allocates lives here: its first block is kept and large enough, since after a commit there must
// be no failure.
MemoryContext wake_context;

void make_wake_context() {
  if (wake_context != nullptr)
    return;
  const Size queue = sizeof(VirtualTransactionId) * (MaxBackends + max_prepared_xacts + 1);
  const Size block = Max(16 * queue, Size{8192});
  wake_context = GenerationContextCreate(TopMemoryContext, "gatepost wake", block, block, block);
}

// The queues that this transaction has joined.
constexpr int most_joined = 64;
uint64 joined[most_joined];
int joined_count;

bool join_first_time(uint64 key) {
  if (mutant("queues_joined_again"))
    return true;
  for (int i = 0; i < joined_count; i++)
    if (joined[i] == key)
      return false;
  if (joined_count == most_joined)
    return false;
  joined[joined_count++] = key;
  return true;
}

void on_transaction(XactEvent event, void *) {
  if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
    joined_count = 0;
}

void remove_touched(bool only_due) {
  int kept = 0;
  for (int i = 0; i < touched_count; i++)
    if (only_due && !touched[i].due)
      touched[kept++] = touched[i];
  touched_count = kept;
  any_due = false;
}

// An error here would be a PANIC of the cluster, so none gets out; the waiters' timers make up for it.
void wake_touched(bool only_due) {
  if (touched_count == 0)
    return;
  const MemoryContext context = MemoryContextSwitchTo(wake_context);
  // The ends of transactions hold interrupts off, and an error forgets that.
  const uint32 interrupts_held = InterruptHoldoffCount;
  const uint32 cancels_held = QueryCancelHoldoffCount;
  PG_TRY();
  {
    at(Point::waking);
    for (int i = 0; i < touched_count; i++)
      if (touched[i].due || !only_due) {
        wake_first(touched[i].key);
        MemoryContextReset(wake_context);
      }
  }
  PG_CATCH();
  {
    if (mutant("wake_errors_get_out"))
      PG_RE_THROW();
    FlushErrorState();
    MemoryContextReset(wake_context);
    if (!mutant("wake_errors_let_interrupts_in")) {
      InterruptHoldoffCount = interrupts_held;
      QueryCancelHoldoffCount = cancels_held;
    }
  }
  PG_END_TRY();
  MemoryContextSwitchTo(context);
  remove_touched(only_due);
}

void on_release(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *) {
  if (phase != (mutant("woken_before_locks_go") ? RESOURCE_RELEASE_BEFORE_LOCKS : RESOURCE_RELEASE_AFTER_LOCKS))
    return;
  if (is_top_level && !(is_commit ? mutant("commit_wakes_nobody") : mutant("rollback_wakes_nobody")))
    wake_touched(false);
  else if (!is_commit && any_due)
    wake_touched(true);
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *) {
  if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
    return;
  for (int i = 0; i < touched_count; i++) {
    if (touched[i].subtransaction != mine)
      continue;
    if (event == SUBXACT_EVENT_COMMIT_SUB)
      touched[i].subtransaction = parent;
    else if (!mutant("savepoint_wakes_nobody"))
      touched[i].due = any_due = true;
  }
}

bool contains(const VirtualTransactionId *list, int count, VirtualTransactionId id) {
  for (int i = 0; i < count; i++)
    if (VirtualTransactionIdEquals(list[i], id))
      return true;
  return false;
}

} // namespace

void join_queue(uint64 key, Waiter *waiter) {
  waiter->key = key;
  waiter->placed = join_first_time(key);
  if (!waiter->placed)
    return;
  // An end by an error has to pass the wake on.
  note_touched(key);
  // One after the other: of two who join at once each would find the other before itself, and nobody would be the
  // first.
  const bool alone = !mutant("joined_at_once");
  if (alone)
    mutex_lock(LockClass::mutex, key);
  waiters_tag_take(key);
  at(Point::queue_joined);
  waiter->before = queue_of(key, &waiter->before_count);
  if (alone)
    mutex_unlock(LockClass::mutex, key);
}

void leave_queue(const Waiter &waiter, bool granted) {
  if (!waiter.placed)
    return;
  const bool first_only = mutant("only_the_first_passes_on");
  const bool too_early = mutant("passed_on_too_early");
  bool tells = !granted && !mutant("leavers_wake_nobody") && (!first_only || is_first(waiter));
  if (too_early && tells) {
    wake_first(waiter.key);
    tells = false;
  }
  if (!too_early && !first_only)
    waiters_tag_drop(waiter.key);
  trace("leaves", granted);
  at(Point::queue_left);
  if (too_early || first_only)
    waiters_tag_drop(waiter.key);
  if (tells)
    wake_first(waiter.key);
}

bool is_first(const Waiter &waiter) {
  if (!waiter.placed)
    return !others_wait(waiter.key);
  if (waiter.before_count == 0)
    return true;
  int count;
  VirtualTransactionId *now = queue_of(waiter.key, &count);
  bool first = true;
  for (int i = 0; first && i < waiter.before_count; i++)
    first = !contains(now, count, waiter.before[i]);
  pfree(now);
  return first;
}

bool others_wait(uint64 key) {
  int count;
  VirtualTransactionId *queue = queue_of(key, &count);
  pfree(queue);
  return count > 0;
}

VirtualTransactionId *queue_of(uint64 key, int *count) {
  const LOCKTAG tag = tag_of(LockClass::waiters, key);
  return GetLockConflicts(&tag, ExclusiveLock, count);
}

void note_touched(uint64 key) {
  if (!wakes_anybody)
    return;
  make_wake_context();
  if (touched_count == most_touched)
    return;
  const SubTransactionId here = GetCurrentSubTransactionId();
  for (int i = touched_count - 1; i >= 0; i--)
    if (touched[i].key == key && touched[i].subtransaction == here)
      return;
  touched[touched_count++] = {key, here, false};
}

void wake_first(uint64 key) {
  int count;
  VirtualTransactionId *queue = queue_of(key, &count);
  PGPROC *process = count > 0 ? pg::process_of(queue[0]) : nullptr;
  if (process != nullptr && !mutant("nobody_woken")) {
    trace("wakes", process->pid);
    SetLatch(&process->procLatch);
  }
  pfree(queue);
}

void register_waking() {
  RegisterXactCallback(on_transaction, nullptr);
  if (!wakes_anybody)
    return;
  RegisterResourceReleaseCallback(on_release, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
