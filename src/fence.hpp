// fence_use: a transaction says which token it works under, and from then on nobody is granted the name before it ends.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Compares the token with the highest ever granted for the name, and keeps the holder tag until the (sub)transaction
// ends. live: refused also when the lease has lapsed. Waits for a grant in flight as for a row lock. Errors: LG001
// stale, LG002 not held, LG005 of another lease.
void use_lease(LeaseName name, int64 token, bool live);

} // namespace gatepost
