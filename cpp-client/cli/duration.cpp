#include "duration.hpp"

#include "failure.hpp"

#include <cctype>
#include <cmath>
#include <cstdio>

namespace gatepost::cli {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

namespace {

struct Unit {
  std::string_view name;
  double microseconds;
};
constexpr Unit units[] = {
    {"us", 1},         {"ms", 1e3},      {"s", 1e6},         {"sec", 1e6},        {"second", 1e6},
    {"seconds", 1e6},  {"m", 60e6},      {"min", 60e6},      {"minute", 60e6},    {"minutes", 60e6},
    {"h", 3600e6},     {"hour", 3600e6}, {"hours", 3600e6},  {"d", 86400e6},      {"day", 86400e6},
    {"days", 86400e6}, {"w", 604800e6},  {"week", 604800e6}, {"weeks", 604800e6},
};
constexpr double longest = 36525 * 86400e6;

} // namespace

std::optional<microseconds> parse_duration(std::string_view text) {
  double total = 0;
  std::size_t at = 0;
  bool any = false;
  const auto skip = [&] {
    while (at < text.size() && text[at] == ' ')
      ++at;
  };
  const auto part = [&](auto belongs) {
    const std::size_t begin = at;
    while (at < text.size() && belongs(static_cast<unsigned char>(text[at])))
      ++at;
    return text.substr(begin, at - begin);
  };
  for (skip(); at < text.size(); skip()) {
    const std::string_view number = part([](unsigned char c) { return std::isdigit(c) || c == '.'; });
    skip();
    const std::string_view name = part([](unsigned char c) { return std::isalpha(c) != 0; });
    double count = 0;
    int used = 0;
    if (number.size() > 30 || std::sscanf(std::string{number}.c_str(), "%lf%n", &count, &used) != 1 ||
        static_cast<std::size_t>(used) != number.size())
      return std::nullopt;
    const Unit *found = nullptr;
    for (const Unit &unit : units)
      if (unit.name == name)
        found = &unit;
    // 0 needs no unit.
    if (found == nullptr && !(name.empty() && count == 0))
      return std::nullopt;
    total += found != nullptr ? count * found->microseconds : 0;
    any = true;
  }
  if (!any || !(total <= longest))
    return std::nullopt;
  return microseconds{std::llround(total)};
}

microseconds duration(const std::string &text) {
  const std::optional<microseconds> length = parse_duration(text);
  if (!length)
    throw Failure{usage, "\"" + text + "\" is not a length of time, such as 30s or 1h30m"};
  return *length;
}

std::string duration_text(nanoseconds length) {
  const bool negative = length.count() < 0;
  const double seconds = std::abs(static_cast<double>(length.count())) / 1e9;
  char text[64];
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (seconds < 0.9995)
    std::snprintf(text, sizeof text, "%.0fms", seconds * 1e3);
  else if (seconds < 9.95)
    std::snprintf(text, sizeof text, "%.1fs", seconds);
  else if (whole < 60)
    std::snprintf(text, sizeof text, "%llds", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lldm %llds", whole / 60, whole % 60);
  else if (whole < 86400)
    std::snprintf(text, sizeof text, "%lldh %lldm", whole / 3600, whole / 60 % 60);
  else
    std::snprintf(text, sizeof text, "%lldd %lldh", whole / 86400, whole / 3600 % 24);
  return (negative ? "-" : "") + std::string{text};
}

std::string interval(microseconds length) { return std::to_string(length.count()) + " microseconds"; }

} // namespace gatepost::cli
