// Rules by name prefix: which roles may do what with which names. The rules of the longest prefix that matches a name
// decide, for each action apart; a name without a rule for an action is open to whoever has EXECUTE, for break_lease
// to administrators. Administrators pass every rule, so that nobody shuts himself out.
//
// Rules are read newest-state and kept by the backend until one changes. What another open transaction is adding shuts
// its prefix already and lets nobody in yet; what it is dropping counts until it commits.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

#include <string_view>

namespace gatepost {

enum class Action : uint8 {
  hold,        // acquire, renew, release, use, lock
  see,         // lease_status, rows of the views leases, refusals and history
  break_lease, // lease_break by who is no administrator
};

inline constexpr const char *action_names[] = {"hold", "see", "break"};

// Asked before any look at the name and any lock of it, with the role in force. Raises 42501, the same whether or not
// the name is known.
void require_action(LeaseName name, Action action);

// The same for who waits, again before each look: the rules may have changed meanwhile.
void require_hold_still(LeaseName name);

// For many names: takes in the newest rules, then judges each by them without looking again.
void refresh_rules();
bool permitted(std::string_view name, Action action);

// The same for a role that is to be given the name.
bool permitted_to(Oid role, std::string_view name, Action action);

// The same for every name that begins so, where the rest of one is not known.
bool permitted_all(std::string_view beginning, Action action);

} // namespace gatepost
