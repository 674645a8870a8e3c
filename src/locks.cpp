#include "locks.hpp"

#include "clock.hpp"
#include "hash.hpp"
#include "mutant.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

#ifdef GATEPOST_TEST
int mutex_bound_ms() { return test_bound_ms; }
#else
constexpr int mutex_bound_ms() { return 5000; }
#endif

// Mixed well, so that no slot of one name meets a slot of another but by the chance of any two names.
LOCKTAG slot_tag(uint64 key, int32 slot) {
  return tag_of(LockClass::slot_holder, mixed(key ^ mixed(static_cast<uint64>(slot))));
}

void explain_mutex(void *) { errcontext("while waiting for the mutex of a lease name"); }

} // namespace

LOCKTAG tag_of(LockClass lock_class, uint64 key) {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(key >> 32), static_cast<uint32>(key),
                       static_cast<uint16>(lock_class));
  return tag;
}

void mutex_lock(LockClass lock_class, uint64 key) {
  const LOCKTAG tag = tag_of(lock_class, key);
  if (mutant("no_mutex") && lock_class == LockClass::mutex)
    return;
  if (LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
    return;

  // LockAcquire has no limit of its own, so lock_timeout is lowered while it waits. It follows the wall clock.
  const int saved = LockTimeout;
  ErrorContextCallback context;
  context.callback = explain_mutex;
  context.arg = nullptr;
  context.previous = error_context_stack;
  error_context_stack = &context;
  PG_TRY();
  {
    if (!mutant("unbounded_mutex") && (saved == 0 || saved > mutex_bound_ms()))
      LockTimeout = mutex_bound_ms();
    LockAcquire(&tag, ExclusiveLock, false, false);
  }
  PG_FINALLY();
  {
    if (!mutant("mutex_limit_stays"))
      LockTimeout = saved;
  }
  PG_END_TRY();
  error_context_stack = context.previous;
}

void mutex_unlock(LockClass lock_class, uint64 key) {
  if (mutant("no_mutex") && lock_class == LockClass::mutex)
    return;
  const LOCKTAG tag = tag_of(lock_class, key);
  LockRelease(&tag, ExclusiveLock, false);
}

bool mutex_try(LockClass lock_class, uint64 key, int64 patience_us) {
  const LOCKTAG tag = tag_of(lock_class, key);
  const int64 deadline = monotonic_us() + patience_us;
  while (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL) {
    if (monotonic_us() >= deadline)
      return false;
    constexpr long pause_us = 200;
    pg_usleep(pause_us);
  }
  return true;
}

bool holder_take(uint64 key, HolderMode mode, bool wait) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  // The transaction's own, not the portal's: what a wait takes in a subtransaction becomes its parent's, and a cursor
  // that fails in a later savepoint lets go of what is its.
  const ResourceOwner owner = CurrentResourceOwner;
  if (!mutant("tags_of_portals"))
    CurrentResourceOwner = CurTransactionResourceOwner;
  const bool taken = LockAcquire(&tag, static_cast<LOCKMODE>(mode), false, !wait) != LOCKACQUIRE_NOT_AVAIL;
  CurrentResourceOwner = owner;
  return taken;
}

void holder_keep_for_session(uint64 key, HolderMode mode) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  LockAcquire(&tag, static_cast<LOCKMODE>(mode), true, true);
  holder_drop(key, mode);
}

bool holder_give_back(uint64 key, HolderMode mode) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  if (!mutant("unlocked_at_once")) {
    // Kept by the top transaction, so that a rollback to a savepoint does not let go of it either.
    const ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = mutant("unlock_rolled_back") ? CurTransactionResourceOwner : TopTransactionResourceOwner;
    LockAcquire(&tag, static_cast<LOCKMODE>(mode), false, true);
    CurrentResourceOwner = owner;
  }
  return LockRelease(&tag, static_cast<LOCKMODE>(mode), true);
}

void holder_drop(uint64 key, HolderMode mode) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockRelease(&tag, static_cast<LOCKMODE>(mode), false);
  CurrentResourceOwner = owner;
}

bool holder_held(uint64 key, HolderMode mode) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  return pg::lock_held_by_me(&tag, static_cast<LOCKMODE>(mode));
}

bool holder_held_by_session(uint64 key, HolderMode mode) {
  if (!holder_held(key, mode))
    return false;
  // The lock manager says whose a lock is only when it is given back, and warns when it is not the session's. What the
  // transaction has too comes back without waiting.
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  const int to_client = client_min_messages;
  const int to_log = log_min_messages;
  client_min_messages = log_min_messages = PANIC;
  const bool had = LockRelease(&tag, static_cast<LOCKMODE>(mode), true);
  client_min_messages = to_client;
  log_min_messages = to_log;
  if (had)
    LockAcquire(&tag, static_cast<LOCKMODE>(mode), true, true);
  return had;
}

void resource_take(uint64 key, ResourceMode mode) {
  if (mutant("equal_unlocked") && mode == ResourceMode::equal)
    return;
  const LOCKTAG tag = tag_of(LockClass::resource, key);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockAcquire(&tag, static_cast<LOCKMODE>(mode), false, false);
  CurrentResourceOwner = owner;
}

void resource_drop(uint64 key, ResourceMode mode) {
  if (mutant("equal_unlocked") && mode == ResourceMode::equal)
    return;
  const LOCKTAG tag = tag_of(LockClass::resource, key);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockRelease(&tag, static_cast<LOCKMODE>(mode), false);
  CurrentResourceOwner = owner;
}

bool wait_within(int64 limit_us, void (*wait)(void *), void *argument) {
  const int saved = LockTimeout;
  const int64 limit_ms = Min((limit_us + 999) / 1000, INT_MAX);
  const bool limited = limit_us >= 0 && (saved == 0 || limit_ms < saved);
  if (limit_us == 0)
    return false;
  const MemoryContext context = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  volatile bool ended = false;
  // What a failed wait leaves behind in the lock manager only the end of a (sub)transaction clears.
  BeginInternalSubTransaction(nullptr);
  MemoryContextSwitchTo(context);
  PG_TRY();
  {
    if (limited)
      LockTimeout = static_cast<int>(limit_ms);
    wait(argument);
    at(Point::wait_ended);
    if (!mutant("wait_limit_stays"))
      LockTimeout = saved;
    // The time can be over in the moment in which the lock is granted: then it is granted.
    if (get_timeout_indicator(LOCK_TIMEOUT, true) && !get_timeout_indicator(STATEMENT_TIMEOUT, false) &&
        !mutant("late_grants_refused"))
      QueryCancelPending = false;
    ReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
  }
  PG_CATCH();
  {
    if (!mutant("ended_wait_limit_stays"))
      LockTimeout = saved;
    MemoryContextSwitchTo(context);
    ErrorData *report = CopyErrorData();
    FlushErrorState();
    RollbackAndReleaseCurrentSubTransaction();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    if (!limited || report->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
      ReThrowError(report);
    FreeErrorData(report);
    ended = true;
  }
  PG_END_TRY();
  return !ended;
}

bool holder_try(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void holder_release(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  LockRelease(&tag, ExclusiveLock, false);
}

bool slot_take(uint64 key, int32 slot, SlotMode mode, bool wait) {
  const LOCKTAG tag = slot_tag(key, slot);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  const bool taken = LockAcquire(&tag, static_cast<LOCKMODE>(mode), false, !wait) != LOCKACQUIRE_NOT_AVAIL;
  CurrentResourceOwner = owner;
  return taken;
}

void slot_drop(uint64 key, int32 slot, SlotMode mode) {
  const LOCKTAG tag = slot_tag(key, slot);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockRelease(&tag, static_cast<LOCKMODE>(mode), false);
  CurrentResourceOwner = owner;
}

void waiters_tag_take(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::waiters, key);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockAcquire(&tag, ShareLock, false, true);
  CurrentResourceOwner = owner;
}

void waiters_tag_drop(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::waiters, key);
  const ResourceOwner owner = CurrentResourceOwner;
  CurrentResourceOwner = CurTransactionResourceOwner;
  LockRelease(&tag, ShareLock, false);
  CurrentResourceOwner = owner;
}

bool relation_lock_within(Oid relation, LOCKMODE mode, int64 patience_us) {
  if (mutant("relation_locks_queue")) {
    LockRelationOid(relation, mode);
    return true;
  }
  if (ConditionalLockRelationOid(relation, mode))
    return true;
  const int64 deadline = monotonic_us() + patience_us;
  long pause_ms = 1;
  while (monotonic_us() < deadline) {
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, pause_ms, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConditionalLockRelationOid(relation, mode))
      return true;
    pause_ms = Min(pause_ms * 2, 20);
  }
  return false;
}

} // namespace gatepost
