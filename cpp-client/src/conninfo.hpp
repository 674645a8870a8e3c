// What a connection string says nothing about.
#pragma once

#include <string>

namespace gatepost::inline v0::detail {

std::string with_defaults(const std::string &conninfo);

} // namespace gatepost::inline v0::detail
