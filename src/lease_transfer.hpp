// Handing a live lease to a request that waits outside.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Result: the new token, which is the request's; 0 when the token is not that of the live lease, when no such request
// has a place, or while another session has a use or lock of the name open. The caller has asked the rules just before
// (refresh_rules); 42501 when they do not let the receiver hold the name.
int64 transfer_lease(LeaseName name, int64 token, const pg_uuid_t &request_id);

} // namespace gatepost
