// The text and parameters of a fenced UPDATE.
#pragma once

#include "fenced_update.hpp"

namespace gatepost {

struct Parameters {
  int count;
  Oid *types;
  Datum *values;
};

struct FencedStatement {
  const char *update; // UPDATE .., with RETURNING the fence column if returns_mark
  const char *probe;  // SELECT of the fence column by the key, as far as policies let it be updated; same parameters
  bool returns_mark;  // a trigger or rule may have changed it
  Parameters parameters;
};

// Checks target, key, changes and fence column, and builds the statements, or recalls them. rel must be open and
// locked.
FencedStatement build_statement(const FencedUpdate &update, Relation rel);

// Whether something may set another mark than the statement does.
bool may_change_mark(Relation rel);

} // namespace gatepost
