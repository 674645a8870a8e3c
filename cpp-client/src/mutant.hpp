// Code that keeps a promise asks here whether this run leaves it out, so that each test can be seen to fail:
// test/mutants.tsv has the names. Without GATEPOST_MUTANTS the answer is false at compile time.
#pragma once

#include <cstdlib>
#include <string_view>

namespace gatepost::inline v0::detail {

#ifdef GATEPOST_MUTANTS
inline bool mutant(std::string_view name) noexcept {
  static const char *const chosen = std::getenv("GATEPOST_MUTANT");
  return chosen != nullptr && name == chosen;
}
#else
constexpr bool mutant(std::string_view) noexcept { return false; }
#endif

} // namespace gatepost::inline v0::detail
