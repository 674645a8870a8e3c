// Waiting for a live lease, inside the server: how long, who may, and sleeping without polling.
#pragma once

#include "arguments.hpp"
#include "mutant.hpp"
#include "pg.hpp"
#include "slot_layout.hpp"
#include "waiters.hpp"

namespace gatepost {

// Until when a request may wait, on the monotonic clock: the server's own timeouts follow the wall clock.
struct Patience {
  bool limited;
  int64 deadline;
  int64 started;

  // Microseconds, -1 for ever.
  int64 left() const;
};

// limit_us negative: for ever.
Patience patience_of(int64 limit_us);

// The deadlock detector does not see a wait for a lease, so nobody may wait for one who has what others wait for.
// 55000.
void require_free_hands(LeaseName name, char kind = kind::lock);

// A wait inside REPEATABLE READ and above would end with a snapshot older than what the last holder commits. 25001.
void refuse_old_snapshot();

// A turn of a wait: clear_wake; look; sleep_for_wake. Nothing that waits for a lock may stand between the look and the
// sleep, since it would eat the wake. Result: woken(), of testpoint.hpp.
bool clear_wake();

// Sleeps until the waiter is woken, but no longer than a first waiter's holder has left (remaining_us; negative:
// unknown), than a coarse timer for ends that wake nobody, than patience and lock_timeout (55P03) allow.
void sleep_for_wake(const Waiter &waiter, int64 remaining_us, const Patience &patience);

// A short sleep where nobody wakes: a row lock, whose owner is not known.
void doze(int64 microseconds, const Patience &patience);

// Runs one try of a wait, which may be one of many thousands: keeps nothing of what it allocates. Result: try_once's,
// which holds no pointer into it.
template <class Try> auto forgetful(Try try_once) {
  if (mutant("looks_remembered"))
    return try_once();
  const MemoryContext outer = CurrentMemoryContext;
  MemoryContext context = AllocSetContextCreate(outer, "gatepost try", ALLOCSET_DEFAULT_SIZES);
  MemoryContextSwitchTo(context);
  const auto result = try_once();
  MemoryContextSwitchTo(outer);
  MemoryContextDelete(context);
  return result;
}

} // namespace gatepost
