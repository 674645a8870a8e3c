// What a session remembers of the names that it comes back to: their keys, since hashing a name costs as much as all
// the rest of taking a free lock, and the places of their rows, which spare a look the index. Plain memory of one
// session; what is remembered of a place is a guess that a look verifies.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Where an index had no entry: src/absence.hpp.
struct KnownLeaf {
  XLogRecPtr lsn; // invalid: nothing is known
  BlockNumber leaf;
  uint32 index_file;
};

struct KnownName {
  uint64 key;
  KnownLeaf rows;        // of lease_slots
  KnownLeaf places;      // of queue
  ItemPointerData place; // of slot 0's row as the index has it: the head of its chain of versions; invalid: not known
  uint8 size;            // 0: an empty entry, since no name is
  char name[49];
};

// nullptr: not known, as any name that is too long to be kept. Good until the next remember_name.
KnownName *known_name(LeaseName name);

// nullptr: too long.
KnownName *remember_name(LeaseName name, uint64 key);

} // namespace gatepost
