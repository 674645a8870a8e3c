// The key of a name: the first 8 bytes, high byte first, of its SHA-256. A fast hash would let one role block another
// role's name by a chosen collision. Test vectors: docs/reference.md.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

uint64 hash64(std::string_view bytes);

} // namespace gatepost
