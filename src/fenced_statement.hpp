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
  const char *update; // UPDATE .. RETURNING the fence column
  const char *probe;  // SELECT of the fence column by the key, as far as policies let it be updated; same parameters
  Parameters parameters;
};

// Checks target, key, changes and fence column, and builds the statements. rel must be open and locked.
FencedStatement build_statement(const FencedUpdate &update, Relation rel);

} // namespace gatepost
