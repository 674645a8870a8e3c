// Leases: the state table. Each call follows one order: mutex; look; holder tag without waiting; write; let go.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

struct AcquireRequest {
  LeaseName name;
  int64 ttl; // microseconds
  text *owner;
  Jsonb *metadata;
  pg_uuid_t request_id; // all zero: none
  int64 wait;           // microseconds; 0: do not wait
};

// The token, or 0 when the name is busy, with wait when it was so all the time. Waiting is refused in a transaction
// that holds anything of gatepost (55000), and inside REPEATABLE READ and above (25001).
int64 acquire_lease(const AcquireRequest &request);

// The same outside a transaction of the caller's: no snapshot is kept while it waits. In a procedure that may commit.
int64 acquire_lease_between_transactions(const AcquireRequest &request);

// ttl 0: as long as last time. False: no longer (or never) the holder's.
bool renew_lease(LeaseName name, int64 token, int64 ttl);

bool release_lease(LeaseName name, int64 token);

const char *lease_status(LeaseName name, int64 token);

// token 0: whoever holds it. Result: see lease_break in docs/reference.md, 0 when nothing was held.
int64 break_lease(LeaseName name, int64 token, const char *reason);

// Deletes rows that ended at least older_than microseconds ago. Result: how many.
int64 purge_leases(int64 older_than, text *prefix);

} // namespace gatepost
