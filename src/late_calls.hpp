// Names that a transaction has freed by a release or break. It may go on for long, and to others they are free from its
// commit on: so before that it looks again who waits. Outside the server: whoever has come meanwhile has found the name
// in flight, and is told. Wherever the first waits: the time for which the name is his begins anew.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// looked: it is known who waits outside. called: he will be told anyway.
void note_freed(uint64 key, LeaseName name, bool looked, bool called);

void register_late_calls();

} // namespace gatepost
