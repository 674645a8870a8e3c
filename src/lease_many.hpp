// Many leases in one call.
#pragma once

#include "lease.hpp"

namespace gatepost {

// What the holder of a lease must know after a call about many.
enum class Told : uint8 {
  nothing,   // done
  lost,      // no longer, or never, the token's: detail as lease_status says
  in_flight, // not known yet: another transaction has the row
  yield,     // done, and somebody asks for the lease: detail is the reason, nullptr for none
};

struct HeldLease {
  LeaseName name;
  int64 token;
  Told told; // who begins with anything but nothing is left alone
  const char *detail;
};

// Sorted by name for the sake of the index, without duplicates. One that is not the caller's fails no other.
void renew_leases(HeldLease *leases, int count, int64 ttl);
void release_leases(HeldLease *leases, int count);

// All or none: the tokens in the order of names, or false when one is busy. request.name does not count; otherwise as
// acquire_lease.
bool acquire_all(const LeaseName *names, int count, const AcquireRequest &request, int64 *tokens);

} // namespace gatepost
