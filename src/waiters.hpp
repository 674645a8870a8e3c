// Who waits inside the server for a name, and who is told when it may have become free. The lock manager is the
// registry: a waiter holds the name's waiters tag, shared, for the whole of its wait, and the manager keeps the holders
// in order of arrival. So a session that ends in whatever way leaves no entry behind, and nobody needs shared memory of
// ours.
//
// Every end of a (sub)transaction that wrote the name's row or had its holder tag wakes the first waiter, after its
// locks are gone; so does every waiter that leaves. A waiter that is woken works out anew whether it is the first.
#pragma once

#include "pg.hpp"

namespace gatepost {

// This session's place in the queue of a name. Others know a waiter by its transaction: one that joins the same queue a
// second time would stand both before and behind those who came in between, and nobody would be the first. So it has no
// place; it looks again and again, and takes what nobody in the queue takes.
struct Waiter {
  uint64 key;
  bool placed;
  int before_count;
  VirtualTransactionId *before; // who was there already
};

// Joins the queue, until leave_queue or the end of the (sub)transaction.
void join_queue(uint64 key, Waiter *waiter);

// granted: the others are told when this transaction ends; else at once.
void leave_queue(const Waiter &waiter, bool granted);

// Whether nobody is before this one any more; without a place: whether the queue is empty.
bool is_first(const Waiter &waiter);

// Whether another session waits for the name.
bool others_wait(uint64 key);

// The waiting sessions of a name in order of arrival, this session's own left out; palloc'd.
VirtualTransactionId *queue_of(uint64 key, int *count);

// This (sub)transaction has written the name's row or holds its tag: its end wakes the first waiter. Cannot fail after
// the first call in a session.
void note_touched(uint64 key);

// After locks were let go in mid-transaction.
void wake_first(uint64 key);

void register_waking();

} // namespace gatepost
