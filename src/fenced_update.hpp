// The fenced write by column: an UPDATE of one row, as the caller, that a token older than the row's mark cannot pass.
#pragma once

#include "pg.hpp"

namespace gatepost {

struct FencedUpdate {
  Oid target;
  Jsonb *key;
  Jsonb *changes;
  int64 token;
  const char *fence_column;
  bool any_issuer; // the table takes tokens that were not drawn here; set by fenced_update
};

// True: applied, and the mark is now the token. False: no such row. A stale token raises LG001, one that was not drawn
// here LG004 unless the table takes tokens of any issuer.
bool fenced_update(FencedUpdate update);

// The token of the call that is updating this relation, or a partition of its, right now; 0 when there is none.
int64 token_of_running_update(Oid relation);

} // namespace gatepost
