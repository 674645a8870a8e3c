// What to grant to whom may not.
#pragma once

#include <string>
#include <string_view>

namespace gatepost::cli {

/// What mends a refusal of the server ("permission denied for ..") to a subcommand; empty when no grant of ours does.
std::string remedy(std::string_view refusal, std::string_view subcommand);

} // namespace gatepost::cli
