// SQLSTATEs of class LG; they are the API: clients switch on them (docs/errors.md).
#pragma once

#include "pg.hpp"

namespace gatepost {

inline constexpr int stale_token = MAKE_SQLSTATE('L', 'G', '0', '0', '1');
inline constexpr int lease_not_held = MAKE_SQLSTATE('L', 'G', '0', '0', '2');
inline constexpr int token_required = MAKE_SQLSTATE('L', 'G', '0', '0', '3');
inline constexpr int unknown_token = MAKE_SQLSTATE('L', 'G', '0', '0', '4');
inline constexpr int token_of_other_lease = MAKE_SQLSTATE('L', 'G', '0', '0', '5');
inline constexpr int wrong_kind = MAKE_SQLSTATE('L', 'G', '0', '0', '6');
inline constexpr int durability_unavailable = MAKE_SQLSTATE('L', 'G', '0', '0', '7');
inline constexpr int split_history = MAKE_SQLSTATE('L', 'G', '0', '0', '8');
inline constexpr int permits_mismatch = MAKE_SQLSTATE('L', 'G', '0', '0', '9');
inline constexpr int in_flight = MAKE_SQLSTATE('L', 'G', '0', '1', '0');

// Beside stale_token.
inline int hint_superseded() {
  return errhint("The holder of this token has been superseded: stop, and acquire anew before going on.");
}

} // namespace gatepost
