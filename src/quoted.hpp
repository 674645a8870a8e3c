// Values of strangers on a line of the server's log.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

// Appends the value in double quotes, cut to so many bytes (then "..." follows the closing quote). What could end the
// quotes or the line, or hide or reorder what follows, is written as an escape.
void append_quoted(StringInfo line, std::string_view value, int shown = 128);

} // namespace gatepost
