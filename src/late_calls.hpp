// Names that a transaction has freed while nobody outside the server was to be told. It may go on for long, and whoever
// comes meanwhile finds the name in flight: so it looks again before it commits.
#pragma once

#include "pg.hpp"

namespace gatepost {

void note_freed(uint64 key);

void register_late_calls();

} // namespace gatepost
