// Named places at which the test build can stop a call (a controller session holds an advisory lock) or make it fail.
// A release build has none of it.
#pragma once

#include <cstdint>

namespace gatepost {

enum class Point {
  acquire_looked = 1,  // the first look says free; before the mutex
  acquire_mutexed = 2, // in the mutex, looked again, before the holder tag
  acquire_tagged = 3,  // holder tag held, before the row is written
  acquire_written = 4, // row written, tag and mutex still held
  renew_mutexed = 5,
  release_mutexed = 6,
  raise_locked = 7,      // generation raise, in its mutex
  raise_set = 8,         // sequence set and flushed, identity not yet written
  token_drawn = 9,       // drawn, not yet flushed
  rung_taken = 11,       // a rung has the tag, in the mutex, before it marks the row
  look_started = 10,     // the scan of a look has read its index page
  use_looked = 12,       // fence_use finds its token good, in the mutex, before the holder tag
  use_looked_first = 14, // the same without the mutex
  wait_ended = 13,       // a wait in the lock manager has got what it waited for
  refusal_mutexed = 15,  // in the mutex of refusals, before a counter is looked for
  waking = 16,           // after a transaction's locks are gone, before it wakes anybody; cannot stop, only fail
  queue_left = 17,       // a waiter's tag is gone, the next is not told yet
  wait_looked = 18,      // a waiter has looked, and is about to sleep; stops without touching its latch
  tag_waited = 19,       // fence_use has the holder tag it waited for, and is about to let it go and look again
  all_took_one = 20,     // lease_acquire_all has taken one more name, outside its mutex
  purge_walked = 21,     // a purge knows which permits are over, and has none of their tags
  purge_tagged = 22,     // it has the tag of one, before its row is deleted
  queue_joined = 23,     // a waiter has its tag, and does not know yet who is before it
  transfer_tagged = 24,  // lease_transfer has the holder tag, before it draws a token
  transfer_written = 25, // the receiver's row is written, his place in the queue is still there
  rung_refused = 26,     // a rung has waited, and what it then found is in its way; outside the mutex
  protected_listed = 27, // the protected relations are listed, and not yet looked at
};

#ifdef GATEPOST_TEST
void at(Point point);
void define_test_settings();

// gatepost.test_timer: in place of the coarse timer of those who wait, so that a wake that is lost stays lost.
extern int test_timer_ms;

// gatepost.test_bound: in place of the bound of waits for a mutex and of holders for DDL. Long, so that who is to get
// what he waits for gets it on a machine that stands still for a while; short where a test waits for its end.
extern int test_bound_ms;

// Appends "PID EVENT NUMBER" to the file gatepost_test_trace of the data directory, where it is there. Cannot fail.
void trace(const char *event, int64_t number);

// Whether a process has written down that it wakes this one since this was asked last; true where there is no such
// file. The server sets latches too, late alarms of earlier statements among them, and would hide that a wake was lost.
bool woken();
#else
inline void at(Point) {}
inline void define_test_settings() {}
inline void trace(const char *, int64_t) {}
inline bool woken() { return true; }
#endif

} // namespace gatepost
