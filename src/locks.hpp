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
  resource,      // of a resource outside the database: its mark
  refusals,      // of counters and history of refusals, key 0
};

LOCKTAG tag_of(LockClass lock_class, uint64 key);

// Takes a mutex; raises 55P03 when another session keeps it longer than any call does (a stopped backend).
void mutex_lock(LockClass lock_class, uint64 key);
void mutex_unlock(LockClass lock_class, uint64 key);

// The same without waiting in the lock manager: tried again and again until patience_us have passed, deaf to
// interrupts. Result: whether it is had.
bool mutex_try(LockClass lock_class, uint64 key, int64 patience_us);

// The modes of the holder tag.
enum class HolderMode {
  exclusive = ExclusiveLock, // an exclusive rung, an acquire while it writes
  shared = ShareLock,        // a shared rung
  use = RowExclusiveLock,    // uses: beside each other, not beside a rung
};

// A rung takes the holder tag until its (sub)transaction ends. Without wait: false when it is not free.
bool holder_take(uint64 key, HolderMode mode, bool wait);

// Turns what holder_take has taken into the session's.
void holder_keep_for_session(uint64 key, HolderMode mode);

// Gives a session's tag back. Inside a transaction others get it when the transaction's locks go: what it did under
// the lock is not visible before. Result: false when the session did not have it.
bool holder_give_back(uint64 key, HolderMode mode);

// Lets go at once of what holder_take has just taken.
void holder_drop(uint64 key, HolderMode mode);

// Whether this backend has the tag in that mode, in any scope.
bool holder_held(uint64 key, HolderMode mode);

// Whether the session has it, also where a transaction of its own has it too.
bool holder_held_by_session(uint64 key, HolderMode mode);

// The modes of a resource's tag.
enum class ResourceMode {
  equal = RowExclusiveLock, // beside each other, not beside a raise
  raise = ExclusiveLock,
};

// Takes the tag until the (sub)transaction ends; waits.
void resource_take(uint64 key, ResourceMode mode);

// Lets go at once of what resource_take has just taken.
void resource_drop(uint64 key, ResourceMode mode);

// Runs a wait in the lock manager with lock_timeout lowered to limit_us, 0 or more; negative: as it is. Result: false
// when the limit ended it. An error that the user's own lock_timeout, a cancel or a deadlock brings goes on.
bool wait_within(int64 limit_us, void (*wait)(void *), void *argument);

// The holder tag of a name, exclusive, without waiting. Result: false when another session has it in any mode.
bool holder_try(uint64 key);
void holder_release(uint64 key);

// The modes of a slot's tag.
enum class SlotMode {
  grant = ExclusiveLock,  // an acquire while it writes
  use = RowExclusiveLock, // uses of one permit beside each other
};

// The holder tag of a slot of a semaphore, beside the one of its name. Kept like the tag of holder_take.
bool slot_take(uint64 key, int32 slot, SlotMode mode, bool wait);
void slot_drop(uint64 key, int32 slot, SlotMode mode);

// The waiters tag of a name, shared, until it is dropped or the (sub)transaction ends. Never waits.
void waiters_tag_take(uint64 key);
void waiters_tag_drop(uint64 key);

// A relation lock that does not queue: tried again and again until patience_us have passed. Result: whether it is had.
// Queued behind a waiting DDL command, a call about one name would stall for work on another.
bool relation_lock_within(Oid relation, LOCKMODE mode, int64 patience_us);

} // namespace gatepost
