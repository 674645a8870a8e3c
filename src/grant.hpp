// What a grant of a lease is made of: judging a look, drawing the token, writing the row. Shared by every call that
// grants. All of it runs under the name's mutex, but for judge, whose "busy" counts without it.
#pragma once

#include "lease.hpp"
#include "lease_state.hpp"
#include "slots.hpp"
#include "waiters.hpp"

namespace gatepost {

// The row of a lease is that of slot 0.
inline constexpr int32 lock_slot = 0;

// LG010, about a row of that kind, or the one that a look has found.
[[noreturn]] void refuse_in_flight(LeaseName name, char kind = kind::lock);
[[noreturn]] void refuse_in_flight(LeaseName name, const Look &found);

// LG006 for the name of a semaphore.
void require_lock(LeaseName name, const Look &found);

// Whether the id is not the zeros that stand for none.
bool has_request(const pg_uuid_t &id);

// The caller's own grant of this name, asked for again with the same request id: the answer was lost on the way.
bool has_request(const AcquireRequest &request);
bool same_request(const AcquireRequest &request, HeapTuple row);
bool same_request(const AcquireRequest &request, const SlotData &data);

// Own locks do not conflict in the server: the lease would be live beside the session's lock. 55006.
void refuse_own_session_rung(LeaseName name);

enum class Verdict { free, busy, same };

// What acquire makes of a look.
Verdict judge(const AcquireRequest &request, const Look &found, const Moment &moment);

// Whether the name has just become free and is the first waiter's, who has been woken and needs a moment. Others hold
// back for that long, unless nobody waits. waiter: who asks, nullptr when he is in no queue.
bool is_called_elsewhere(HeapTuple row, const Moment &moment, uint64 key, const Waiter *waiter);
// The two halves of it.
bool has_just_ended(const SlotData &row, const Moment &moment);
bool others_are_first(uint64 key, const Waiter *waiter);

// A token above the row's. Where the sequence has fallen below it (RESTART, setval, a tool that lost its value) the
// generation is raised first; that may wait inside the mutex, within bounds.
int64 draw_above(Oid sequence, HeapTuple row);
int64 draw_above(Oid sequence, int64 floor);

// What is granted: a lease, or a permit with its slot and weight.
struct Granted {
  char kind;
  int32 slot;
  int32 weight;
};

inline constexpr Granted whole_lease{kind::lock, lock_slot, 1};

// To whom it is granted.
struct Grantee {
  Oid role;
  int32 pid;
  text *owner;       // nullptr: NULL
  inet *client_addr; // nullptr: NULL
};

// The caller; without an owner of its own the request gets a label that says where it comes from.
Grantee caller_of(const AcquireRequest &request);

// Writes the granted row over old, nullptr when there is none. The clock is read here, in the mutex and after any
// wait. Result: false when another session got hold of the row.
bool write_grant(const Slots &slots, Relation history, const AcquireRequest &request, const Granted &granted,
                 HeapTuple old, int64 token);

// The same for another than the caller.
bool write_grant_to(const Grantee &grantee, const Slots &slots, Relation history, const AcquireRequest &request,
                    const Granted &granted, HeapTuple old, int64 token);

// Whether a row that is to be replaced reaches into the toast table.
bool stored_long(HeapTuple row);

} // namespace gatepost
