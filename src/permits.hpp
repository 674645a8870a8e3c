// The permits of a semaphore: slots 1 and above of its name, one row a grant, with its weight. Slot 0 keeps the limit;
// it is written with the first grant and goes with that transaction, so permits may stand without it for a while.
#pragma once

#include "slot_walk.hpp"

namespace gatepost {

inline constexpr int32 most_permits = 10000;

// Permits of weight 1 have slots 1 to the limit. Heavier ones are numbered from here on, so that whoever finds nothing
// live above the limit may take the first free slot below it without counting the rest.
inline constexpr int32 first_heavy_slot = most_permits + 1;
inline constexpr int32 last_slot = PG_INT32_MAX;

// What a look at slot 0 says about the name.
bool is_semaphore(const Look &found);

// Whether a transaction that is still open has purged the semaphore and granted its name as a lease.
bool becomes_lease(const Look &found);

// The row that the token belongs to: slot 0 of a lease, whatever its token is; the slot of the permit that has the token
// or had it before it was broken. A semaphore without such a permit: no row, and permits set.
Look look_for(const Slots &slots, LeaseName name, int64 token);
Look look_for(SlotReader *reader, const Slots &slots, LeaseName name, int64 token);

// Where this backend has written a permit last, so that look_for need not search.
void remember_permit(int64 token, int32 slot);

// The highest token of a permit, 0 when there is none; own_only: of those whose role the caller may act for.
int64 latest_permit(const Slots &slots, LeaseName name, bool own_only);

// The slots whose permits are live or in flight, in ascending order; an integer list.
List *live_permits(const Slots &slots, LeaseName name, const Moment &moment);

// What a lease or the permits of a name are to an advisory lock.
struct Standing {
  bool in_flight;
  bool shut; // live, or closed after a lapse
  bool lapsed;
  bool own_change;
  TransactionId writer; // of what is in flight, where it is known
  int64 remaining_us;   // of what is shut, until the first opens
};

Standing standing_of(const Look &lease, const Moment &moment);
Standing standing_of(const Slots &slots, LeaseName name, const Moment &moment);

// Marks every lapsed permit superseded, as mark_superseded.
void mark_permits_superseded(const Slots &slots, LeaseName name, const Moment &moment);

} // namespace gatepost
