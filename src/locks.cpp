#include "locks.hpp"

#include "clock.hpp"
#include "mutant.hpp"

namespace gatepost {
namespace {

#ifdef GATEPOST_TEST
constexpr int mutex_bound_ms = 1000;
#else
constexpr int mutex_bound_ms = 5000;
#endif

LOCKTAG tag_of(LockClass lock_class, uint64 key) {
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(key >> 32), static_cast<uint32>(key),
                       static_cast<uint16>(lock_class));
  return tag;
}

void explain_mutex(void *) { errcontext("while waiting for the mutex of a lease name"); }

} // namespace

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
    if (!mutant("unbounded_mutex") && (saved == 0 || saved > mutex_bound_ms))
      LockTimeout = mutex_bound_ms;
    LockAcquire(&tag, ExclusiveLock, false, false);
  }
  PG_FINALLY();
  { LockTimeout = saved; }
  PG_END_TRY();
  error_context_stack = context.previous;
}

void mutex_unlock(LockClass lock_class, uint64 key) {
  if (mutant("no_mutex") && lock_class == LockClass::mutex)
    return;
  const LOCKTAG tag = tag_of(lock_class, key);
  LockRelease(&tag, ExclusiveLock, false);
}

bool holder_try(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void holder_release(uint64 key) {
  const LOCKTAG tag = tag_of(LockClass::holder, key);
  LockRelease(&tag, ExclusiveLock, false);
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
