// What a connection string says nothing about.
#pragma once

#include <string>

namespace gatepost::detail {

std::string with_defaults(const std::string &conninfo);

} // namespace gatepost::detail
