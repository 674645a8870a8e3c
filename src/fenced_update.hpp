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
};

// True: applied, and the mark is now the token. False: no such row. A stale token raises LG001.
bool fenced_update(const FencedUpdate &update);

} // namespace gatepost
