// What acquiring one lease and several have in common.
#pragma once

#include "grant.hpp"
#include "queue.hpp"

namespace gatepost {

// What one try came to.
struct Try {
  int64 token;        // 0: busy
  int64 remaining_us; // until the name is open or another's turn is over, as far as the look can tell; -1: unknown
};

// What a grant reads and writes, locked before the mutex.
struct GrantTables {
  const Slots &slots;
  const Queue &queue;
  Relation history;
  Oid sequence;
};

// The look and the grant under the mutex; *written when a row was written.
Try grant_lease(const GrantTables &tables, const AcquireRequest &request, const Look &first, uint64 key,
                const Waiter *waiter, bool *written);

// A name that is free but not to be had yet: the first waiter's for a moment, or a use's or rung's.
inline constexpr int64 moment_us = 10 * 1000;

} // namespace gatepost
