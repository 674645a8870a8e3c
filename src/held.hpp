// A holder's own row: what renewing and releasing one lease and many have in common.
#pragma once

#include "lease_state.hpp"
#include "slots.hpp"

namespace gatepost {

// Opens lease_slots for holders of leases: queued DDL must not lose them, so a call may wait for the locks up to a
// third of what the shortest of them has left, and at most 5 s.
void open_slots_for_holders(Slots *slots, const LeaseName *names, const int64 *tokens, int count);

// What a look for a token tells about it: the answer of lease_status.
const char *status_of(const Slots &slots, LeaseName name, const Look &found, int64 token, const Moment &moment);

// Whether the token's row may be renewed or released: it is live.
bool may_change(const SlotData &row, const Moment &moment);

// The changes. moment: the one in which the lease was found live; no later one may lengthen it. ttl 0: as last time.
void renew(SlotData *row, int64 ttl, const Moment &moment);
void release(SlotData *row, const Moment &moment);

} // namespace gatepost
