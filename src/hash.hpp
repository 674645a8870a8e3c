// The key of a name: the first 8 bytes, high byte first, of the SHA-256 of its UTF-8 form. A fast hash would let one
// role block another role's name by a chosen collision. Test vectors: docs/reference.md.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

#include <string_view>

namespace gatepost {

uint64 hash64(std::string_view bytes);

// Spreads a number over all 64 bits (the last step of MurmurHash3); no two numbers come to the same.
uint64 mixed(uint64 number);

// The same key whatever the encoding of the database.
uint64 key_of(LeaseName name);

} // namespace gatepost
