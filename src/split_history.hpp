// Two servers promoted apart go on in one generation number with different nonces: a mark and a token that differ so
// come from histories of which neither continues the other, and which of them is later nobody can say.
#pragma once

#include "pg.hpp"

namespace gatepost {

bool split(int64 mark, int64 token);

// Raises LG008. kind and name: the relation or resource that keeps the mark.
[[noreturn]] void refuse_split(int64 mark, int64 token, const char *kind, const char *name);

} // namespace gatepost
