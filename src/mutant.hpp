// Code that keeps a promise asks here whether this build leaves it out, so that each test can be seen to fail.
// In a release build the answer is false at compile time and nothing is left of the question.
#pragma once

#include <string_view>

namespace gatepost {

constexpr bool mutant([[maybe_unused]] std::string_view name) {
#ifdef GATEPOST_MUTANT
  return name == GATEPOST_MUTANT;
#else
  return false;
#endif
}

} // namespace gatepost
