// Watchers of a name: a role that is told on the name's channel whenever a release or break frees it. The row counts
// for watch_us, so that nobody is notified for ever; it belongs to the role, since a session behind a pooler is
// nobody's.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

inline constexpr int64 watch_us = 5 * USECS_PER_MINUTE;

// Begins or prolongs the watch of the role in force.
void watch_name(LeaseName name);

// Result: false when the role did not watch the name.
bool unwatch_name(LeaseName name);

} // namespace gatepost
