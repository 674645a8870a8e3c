// Whether an index has no entry of a name at all: lease_slots for the names of those who use locks only, queue for most
// names at all times. The one leaf on which such an entry would have to be is remembered with the position of its last
// change in the log: while that is the same there still is none, and no search is needed.
#pragma once

#include "known_names.hpp"
#include "pg.hpp"

namespace gatepost {

// first: the value of the index's first column. Result: true when there is none; false when there is one, or when it
// takes a scan to tell. Counts as a look does: only under the name's mutex.
bool has_no_entry(Relation index, Datum first, KnownLeaf *known);

} // namespace gatepost
