// The version of the library. CMake reads it here.
#pragma once

#include <gatepost/export.hpp>

#include <string_view>

#define GATEPOST_VERSION_MAJOR 0
#define GATEPOST_VERSION_MINOR 1
#define GATEPOST_VERSION_PATCH 0
/// For comparisons: 1.2.3 is 10203.
#define GATEPOST_VERSION_NUMBER (GATEPOST_VERSION_MAJOR * 10000 + GATEPOST_VERSION_MINOR * 100 + GATEPOST_VERSION_PATCH)

namespace gatepost {
inline namespace v0 {

/// Of the library that the program runs with, as "1.2.3"; the macros are those of the headers it was compiled with.
GATEPOST_API std::string_view version() noexcept;

} // namespace v0
} // namespace gatepost
