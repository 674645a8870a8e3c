// What the doctor asks of tables that are protected by column: a look at one end of an index, whatever their size.
#pragma once

#include "pg.hpp"

namespace gatepost {

struct MarkAbove {
  bool looked; // false: there is no index to look at, or DDL was in the way
  int64 mark;  // the highest one above the bound, 0: none
};

// The marks of a relation that are protected by column and issued here; of any other there is none. Runs no statement
// on the table, whose indexes and policies may call functions of its owner.
MarkAbove mark_above(Oid relation, int64 bound);

} // namespace gatepost
