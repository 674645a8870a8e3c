// What acquiring one lease and several have in common.
#pragma once

#include "grant.hpp"

namespace gatepost {

// The look and the grant under the mutex, with the locks of all that it writes taken before. Result: the token, 0 when
// busy; *written when a row was written.
int64 grant_lease(const Slots &slots, Relation history, Oid sequence, const AcquireRequest &request, const Look &first,
                  uint64 key, const Waiter *waiter, bool *written);

// A name that is free but not to be had yet: the first waiter's for a moment, or a use's or rung's.
inline constexpr int64 moment_us = 10 * 1000;

} // namespace gatepost
