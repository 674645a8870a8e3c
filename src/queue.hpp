// The order of all who wait for a name, inside the server and outside. An outside waiter has a row in queue for as long
// as its stay lasts; the row lists the sessions that waited inside when it came, so it stands before every other. The
// first is known under the mutex:
//
//   first is       told by                                        the others hold back
//   inside         its latch, after the commit that freed         10 ms
//   outside        NOTIFY, of the commit of a release or break    50 ms after a release or break
//
// Freed by a rollback, a lapse or the death of a session nobody can notify: who waits outside asks again at the
// holder's deadline or each second, and nobody holds back.
#pragma once

#include "lease.hpp"
#include "lease_state.hpp"
#include "queue_rows.hpp"
#include "waiters.hpp"

namespace gatepost {

inline constexpr int64 longest_stay_us = 5 * USECS_PER_MINUTE;

// Takes a place for the request, or prolongs the one that it has; nothing when the request holds the lease already.
// Errors: LG006, LG010, 42501 when another role has queued the request.
void queue_request(const AcquireRequest &request, int64 stay);

// Gives the place up. Result: false when there was none.
bool unqueue_request(LeaseName name, const pg_uuid_t &request_id);

// How long whoever asks has to hold back from a name that is free, microseconds: it has just become so, and is first
// another's. waiter: nullptr when he does not wait inside. row: of the lease. Under the mutex.
int64 turn_of_another(const Queue &queue, const AcquireRequest &request, uint64 key, const Waiter *waiter,
                      HeapTuple row, const Moment &moment);

// Whether the name has become free so lately that others hold back for whoever waits: its row, which tells so, is still
// needed. Under the mutex.
bool is_turn_of_any(const Queue &queue, uint64 key, const SlotData &row, const Moment &moment);

// Deletes the place of a request that has been granted. Under the mutex.
void delete_place(const Queue &queue, const AcquireRequest &request, uint64 key);

// A copy of the settled row of a request, whoever queued it; nullptr when there is none that counts. Under the mutex.
HeapTuple find_place(const Queue &queue, LeaseName name, uint64 key, const pg_uuid_t &request_id, const Moment &moment);

// What a call that frees a name has to tell to those outside. NOTIFY takes a lock of the whole cluster at commit, so it
// is sent only when the first is outside, or somebody watches.
struct OutsideCall {
  LeaseName name;
  uint64 key;
  Queue queue;
  bool wanted;
  bool open;
  bool called;
};

// Before the mutex; does nothing unless wanted. Without the locks at once it is left to the look before the commit; had
// not even then, nobody is told: they ask again by themselves.
void open_call(OutsideCall *call, LeaseName name, uint64 key, bool wanted);
// Under the mutex, when the name has become free. The transaction looks again before it commits: late_calls.hpp.
void look_outside(OutsideCall *call);
// After it.
void close_call(OutsideCall *call);

// Whether somebody outside who waits for the key or watches it is to be told.
bool calls_outside(const Queue &queue, uint64 key);

// The channel of a name.
const char *channel_of(uint64 key);
// Sends NOTIFY on it when this transaction commits.
void notify_outside(uint64 key);

// One who waits, for the view.
struct Waiting {
  int32 pid;       // 0: outside
  HeapTuple place; // nullptr: inside
};

// All who wait for a key in the order in which they are served; palloc'd. Result: how many.
int whole_queue(const Queue &queue, uint64 key, Waiting **waiting);

} // namespace gatepost
