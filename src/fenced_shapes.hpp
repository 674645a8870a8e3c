// Fenced statements that were built before, by the shape of the call: which table, which columns, which of them null.
// Building one costs a third of what the update itself does.
#pragma once

#include "fenced_document.hpp"

namespace gatepost {

struct FencedColumn {
  Oid type;
  int32 typmod; // what is stored is made to fit its column; a key is compared as it is: -1
  ValueKind kind;
};

// What the text of a statement depends on, beside what invalidation tells of.
struct FencedShape {
  Oid relation;
  const char *fence_column;
  bool splits;   // another history is told from this one
  bool policies; // for this role
  Document key;
  Document changes;
};

struct FencedText {
  const char *update;    // UPDATE ..; RETURNING the fence column if returns_mark
  const char *probe;     // SELECT of the fence column by the key, as far as policies let it be updated; same parameters
  bool returns_mark;     // a trigger may have changed it
  FencedColumn *columns; // of key, then of changes
  uint64 as_of;          // what invalidation had told when its building began
};

// Result: false when there is none, with as_of for one that is then built. The text is a copy: what runs later may call
// fenced_update, and have this forgotten.
bool recall_text(const FencedShape &shape, FencedText *text);
void remember_text(const FencedShape &shape, const FencedText &text);

void register_fenced_shapes();

} // namespace gatepost
