// The advisory rung: a named lock in the lock manager that excludes the lease of the same name, both ways.
#pragma once

#include "arguments.hpp"
#include "rungs.hpp"

namespace gatepost {

struct RungRequest {
  LeaseName name;
  RungScope scope;
  bool shared;
  int64 patience_us; // 0: try once; negative: without limit
};

// True: held. False: not to be had in time.
bool take_rung(const RungRequest &request);

// Gives one session lock back. Raises 55000 when there was none.
void unlock_rung(LeaseName name, bool shared);

} // namespace gatepost
