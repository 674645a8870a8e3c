// What a table's fence triggers were told by fence_protect. The arguments of the triggers are the only record of a
// protection: dumps carry it, and DROP TABLE and ALTER TABLE RENAME have nothing to keep up.
//
//   fence_by_lease(lease, exempt role...)
//   fence_by_template(template, exempt role...)
//   fence_by_column(column, issuer, lease or '', exempt role...)
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

enum class FenceMode { by_lease, by_template, by_column };
inline constexpr int fence_mode_count = 3;

// Names of the trigger functions, in the order of FenceMode.
inline constexpr const char *fence_functions[fence_mode_count] = {"fence_by_lease", "fence_by_template",
                                                                  "fence_by_column"};

struct FenceArguments {
  FenceMode mode;
  const char *lease;  // name or template; by column: "" when the transaction's only use is meant
  const char *column; // by column only
  Issuer issuer;      // by column only
  int exempt_count;
  char **exempt; // role names; a role that is gone exempts nobody
};

// Reads trigger arguments. Result: false when they are not as fence_protect writes them.
bool read_fence_arguments(FenceMode mode, int count, char **arguments, FenceArguments *result);

// Their oids, looked up in schema gatepost; InvalidOid when the extension is not installed.
struct FenceFunctions {
  Oid oid[fence_mode_count];
};
FenceFunctions fence_functions_here();

// Whether the relation's fence on that column takes tokens of any issuer.
bool takes_any_issuer(Relation rel, const char *column);

} // namespace gatepost
