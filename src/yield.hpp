// Asking the holder of a lease to give it up. The holder is told by lease_renew_many and the view leases.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Of a semaphore: every holder of a permit. Result: whether a live lease or permit was asked for; it makes no
// difference to it otherwise. LG010 when another transaction has it in flight.
bool request_yield(LeaseName name, const NameData &reason);

} // namespace gatepost
