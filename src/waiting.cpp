#include "waiting.hpp"

#include "clock.hpp"
#include "durability.hpp"
#include "lease_state.hpp"
#include "mutant.hpp"
#include "rungs.hpp"
#include "testpoint.hpp"
#include "uses.hpp"

namespace gatepost {
namespace {

// Sessions that are killed, and pg_advisory_unlock_all, wake nobody.
#ifdef GATEPOST_TEST
int64 coarse_us() { return test_timer_ms * int64{1000}; }
#else
constexpr int64 coarse_us() { return USECS_PER_SEC; }
#endif
constexpr int64 unplaced_us = 100 * 1000;

int64 patience_clock() { return mutant("patience_by_wall_clock") ? wallclock_us() : monotonic_us(); }

// The server's lock_timeout counts waits in the lock manager; for a wait outside it, it is counted here.
int64 obey_lock_timeout(const Patience &patience, int64 nap) {
  if (LockTimeout == 0 || mutant("lock_timeout_ignored"))
    return nap;
  const int64 left = patience.started + LockTimeout * int64{1000} - patience_clock();
  if (left <= 0)
    ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("canceling statement due to lock timeout")));
  return Min(nap, left);
}

void sleep_on_latch(int64 microseconds) {
  trace("sleeps", microseconds);
  const int end = mutant("orphans_wait") ? WL_POSTMASTER_DEATH : WL_EXIT_ON_PM_DEATH;
  const int wake = mutant("deaf_asleep") ? 0 : WL_LATCH_SET;
  const int64 until = monotonic_us() + microseconds;
  int64 left = microseconds;
  int why;
  do {
    why = WaitLatch(MyLatch, wake | WL_TIMEOUT | end, Max((left + 999) / 1000, 1), PG_WAIT_EXTENSION);
    left = until - monotonic_us();
  } while ((why & WL_LATCH_SET) != 0 && left > 0 && !clear_wake());
  trace((why & WL_LATCH_SET) != 0 ? "latched" : "timed", 0);
  CHECK_FOR_INTERRUPTS();
}

// No longer than both allow.
int64 within(int64 microseconds, const Patience &patience) {
  const int64 left = patience.left();
  return obey_lock_timeout(patience, left < 0 ? microseconds : Min(microseconds, left));
}

} // namespace

int64 Patience::left() const { return limited ? Max(deadline - patience_clock(), 0) : -1; }

Patience patience_of(int64 limit_us) {
  const int64 now = patience_clock();
  return {limit_us >= 0, now + Max(limit_us, 0), now};
}

void require_free_hands(LeaseName name, char kind) {
  if ((!changed_in_transaction() && !mark_kept_in_transaction() && !uses_any_token() && !holds_transaction_rungs() &&
       !holds_session_rungs()) ||
      mutant("full_hands_wait"))
    return;
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("cannot wait for %s \"%s\" while holding leases or locks of gatepost",
                         kind == kind::lock ? "the live lease" : called(kind), printable(name)),
                  errdetail("Such a wait is invisible to the deadlock detector."),
                  errhint("Try without waiting, or wait before taking anything else.")));
}

void refuse_old_snapshot() {
  if (IsolationUsesXactSnapshot() && !mutant("old_snapshots_wait"))
    ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                    errmsg("cannot wait for a lock in a transaction of isolation level %s",
                           XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
                    errdetail("Its snapshot is older than what the last holder has committed."),
                    errhint("Wait in a READ COMMITTED transaction.")));
}

bool clear_wake() {
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
  // After the latch: who wakes this one from here on is heard by the next sleep.
  return woken();
}

void sleep_for_wake(const Waiter &waiter, int64 remaining_us, const Patience &patience) {
  // Who is not the first is woken when he becomes it.
  int64 nap = waiter.placed ? 10 * coarse_us() : unplaced_us;
  if (waiter.placed && is_first(waiter))
    nap = remaining_us < 0 ? coarse_us() : Min(coarse_us(), remaining_us);
  if (mutant("no_coarse_timer") && (remaining_us < 0 || remaining_us > coarse_us()))
    nap = USECS_PER_HOUR;
  sleep_on_latch(within(nap, patience));
}

void doze(int64 microseconds, const Patience &patience) {
  sleep_on_latch(within(microseconds, patience));
  ResetLatch(MyLatch);
}

} // namespace gatepost
