// Code that keeps a promise asks here whether it is to be left out, so that each test can be seen to fail. The test
// build is told by the environment variable GATEPOST_MUTANT of the server. In a release build the answer is false at
// compile time and nothing is left of the question.
#pragma once

#ifdef GATEPOST_TEST
#include <cstdlib>
#endif
#include <string_view>

namespace gatepost {

#ifdef GATEPOST_TEST
inline const char *const chosen_mutant = std::getenv("GATEPOST_MUTANT");
inline bool mutant(std::string_view name) { return chosen_mutant != nullptr && name == chosen_mutant; }
#else
constexpr bool mutant(std::string_view) { return false; }
#endif

} // namespace gatepost
