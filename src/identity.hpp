// The identity of this server's history and the generation of its tokens. The generation rises whenever the history
// may have forked or restarted from a copy: another system identifier, timeline, database or boot than when it was
// last raised. The raise does not roll back with the transaction that happens to notice.
#pragma once

#include "pg.hpp"

namespace gatepost {

// For every changing call, granted or refused, before its first look, and again before a token is drawn: raises the
// generation when the identity has changed. Costs a comparison when it has not.
void ensure_identity();

// Raises it in any case, and above the generation of the given token. Result: the new generation.
int64 raise_generation(int64 above);

// What rows of other boots are judged by.
struct Recovery {
  bool settled; // false until the first changing call after a promotion or boot: such rows are recovering without end
  int64 since;  // boot-time from which their ttl counts
};
Recovery recovery();

} // namespace gatepost
