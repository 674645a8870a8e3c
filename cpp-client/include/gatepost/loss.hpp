// Why a guard holds nothing any more.
#pragma once

#include <gatepost/export.hpp>

#include <string_view>

namespace gatepost {
inline namespace v0 {

enum class Loss {
  expired,    ///< no renewal was confirmed before the guard's own deadline
  lapsed,     ///< the server: past its deadline
  released,   ///< the server: given back by somebody else with the token
  superseded, ///< the server: granted to somebody else since
  broken,     ///< the server: taken away by an administrator
  unknown,    ///< the server knows no such grant: purged, or never made
  hold_limit, ///< LeaseOptions::max_hold is over
  forked,     ///< this is a child process: guards stay with the parent
};

GATEPOST_API std::string_view to_string(Loss reason) noexcept;

} // namespace v0
} // namespace gatepost
