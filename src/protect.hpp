// fence_protect and fence_unprotect, and keeping up with partitions and children that come later.
#pragma once

#include "fence_arguments.hpp"
#include "pg.hpp"

namespace gatepost {

struct ProtectRequest {
  Oid target;
  const char *lease;  // nullptr: none
  const char *column; // nullptr: none
  Issuer issuer;
  List *exempt; // of role names, char *
};

// Protects the table and everything below it, in place of an earlier protection. The caller must own all of them.
// Errors: 22004 neither lease nor column, 22023 arguments that do not go together, 42501, 42703, 42804, 42809.
void protect_table(const ProtectRequest &request);

// Takes the protection of the table and of everything below it away. 42704 when there is none, 55000 when it is that of
// a parent.
void unprotect_table(Oid target);

// After a command that links or parts tables, or enables triggers: gives relations that have come to a protected one,
// or have been parted from it, the triggers they need, where the current role owns them. Raises 55000 when a relation
// is protected otherwise than what it was attached to, and 42501 when somebody who does not own the table makes or
// replaces a fence trigger.
void follow_ddl(const Node *command);

} // namespace gatepost
