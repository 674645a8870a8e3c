// Claims: each key of a resource is claimed once, for receivers that cannot compare tokens.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Advances the mark first; a stale token raises LG001. Result: false when the key was claimed before. Waits for another
// transaction that is claiming it.
bool claim(LeaseName resource, LeaseName key, int64 token, Issuer issuer);

// Whether the key has been claimed, newest state.
bool is_claimed(LeaseName resource, LeaseName key);

// Deletes claims made at least that many microseconds ago, of resources with that prefix, at most 10,000, skipping
// those that another transaction has locked. Result: how many.
int64 purge_claims(int64 older_than, text *resource_prefix);

} // namespace gatepost
