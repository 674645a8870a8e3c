// Semaphores: up to so many permits of a name at once. A grant is one row with a weight, one token and one deadline;
// renewed, released, broken and used by its token, as a lease.
#pragma once

#include "lease.hpp"
#include "slot_walk.hpp"

namespace gatepost {

struct SemaphoreRequest {
  AcquireRequest grant; // wait included
  int32 permits;        // the limit: 1 to most_permits
  int32 weight;         // 1 to permits
};

// The token, or 0 when so many permits are not free, with wait when it was so all the time. LG006 for the name of a
// lease, LG009 when the semaphore has another limit.
int64 acquire_permit(const SemaphoreRequest &request);

// Result: false when it is that size already. LG006, LG010; 42704 when there is no such semaphore; 42501 unless the
// role in force is a member of the one that made it, or an administrator.
bool resize_semaphore(LeaseName name, int32 permits);

// What is known of the row that keeps the limit.
struct Limit {
  int32 permits; // 0: none is kept
  bool written;  // by a transaction that has ended, or by this one
};

// While another transaction resizes, the smaller of the two counts. Raises LG006 for the row of a lease.
Limit limit_of(LeaseName name, const Look &first);

// The moment's count for people, without the mutex: permits that are live or in flight.
int64 count_permits(const Slots &slots, LeaseName name, const Moment &moment);

} // namespace gatepost
