// Lengths of time as people write them: 30s, 500ms, 1h30m.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace gatepost::cli {

/// Units: us, ms, s (sec, second), m (min, minute), h (hour), d (day), w (week), in any number of parts, with or
/// without spaces. Empty when the text is nothing of the kind, is negative, or is longer than a century.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);

/// For text that has been checked.
std::chrono::microseconds duration(const std::string &text);

/// The two largest units: 2h 5m, 30s, 1.5s.
std::string duration_text(std::chrono::nanoseconds length);

/// As the server reads an interval.
std::string interval(std::chrono::microseconds length);

} // namespace gatepost::cli
