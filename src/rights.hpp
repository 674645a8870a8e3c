// Who may. EXECUTE is granted by the documented lists; what is checked here is checked before any look or lock, by the
// role in force (GetUserId), so that a SECURITY DEFINER wrapper owns the leases it takes.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"
#include "slot_layout.hpp"

namespace gatepost {

// The head of every changing call: refused in a read-only transaction or on a standby (25006), in parallel mode, and
// in a security-restricted operation (42501).
void require_changing(const char *function);

// Whether the role, or the one in force, has UPDATE on lease_slots.
bool is_administrator(Oid role);
bool is_administrator();

// For administrators' functions beside EXECUTE, since people grant on all functions: UPDATE on lease_slots. 42501.
void require_administrator(const char *function);

// For what operators ask: membership in pg_monitor, or an administrator. 42501.
void require_monitor(const char *function);

// Raises 42501 unless the current role is a member of the role that took the lease or permit, or that role is gone and
// the current one is a superuser.
void require_member(const SlotData &row, LeaseName name);

} // namespace gatepost
