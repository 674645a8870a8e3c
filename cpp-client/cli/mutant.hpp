// As the library's mutants: test/mutants.tsv has the names of the command's.
#pragma once

#include "../src/mutant.hpp"

namespace gatepost::cli {

using gatepost::detail::mutant;

} // namespace gatepost::cli
