// Heavyweight locks on names. One order for every call: mutex; look; holder tag without waiting; write; let go of the
// mutex. Nothing waits inside a mutex.
#pragma once

#include "pg.hpp"

namespace gatepost {

// The 16-bit class of an advisory tag (pg_locks.objsubid). Core uses 1 and 2, Citus 4 to 15, others about 100.
enum class LockClass : uint16 {
  mutex = 18256, // of a name: exclusive, for the length of a call
  holder,        // of a name: rungs, uses, an acquire while it writes
  slot_holder,   // of a slot of a semaphore
  waiters,       // of a name
  generation,    // of the raise of the generation, key 0
};

// Takes a mutex; raises 55P03 when another session keeps it longer than any call does (a stopped backend).
void mutex_lock(LockClass lock_class, uint64 key);
void mutex_unlock(LockClass lock_class, uint64 key);

// The holder tag of a name, exclusive, without waiting. Result: false when another session has it in any mode.
bool holder_try(uint64 key);
void holder_release(uint64 key);

// A relation lock that does not queue: tried again and again until patience_us have passed. Result: whether it is had.
// Queued behind a waiting DDL command, a call about one name would stall for work on another.
bool relation_lock_within(Oid relation, LOCKMODE mode, int64 patience_us);

} // namespace gatepost
