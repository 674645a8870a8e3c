#include "conninfo.hpp"

#include "mutant.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

namespace gatepost::inline v0::detail {

namespace {

/// The running program's, with nothing in it that a connection string or URI would have to quote.
std::string program_name() {
  static constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  std::string name = mutant("program_unnamed") ? "unnamed" : program_invocation_short_name;
  for (std::size_t place = 0; (place = name.find_first_not_of(plain, place)) != std::string::npos;)
    name[place] = '_';
  return name.empty() ? "gatepost" : name;
}

} // namespace

std::string with_defaults(const std::string &conninfo) {
  const std::string program = program_name();
  const std::pair<const char *, const char *> defaults[] = {
      {"fallback_application_name", program.c_str()},
      {"connect_timeout", "3"},
      {"keepalives", "1"},
      {"keepalives_idle", "5"},
      {"keepalives_interval", "2"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "10000"},
      {"target_session_attrs", "read-write"},
  };
  if (mutant("keepalives_unset"))
    return conninfo;
  const bool uri = conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
  std::string result = conninfo;
  char separator = conninfo.find('?') == std::string::npos ? '?' : '&';
  for (const auto &[key, value] : defaults) {
    const std::size_t place = conninfo.find(key);
    // keepalives is the beginning of others.
    if (place != std::string::npos && conninfo.find_first_of("= ", place) == place + std::string{key}.size())
      continue;
    if (uri)
      result += separator;
    else if (!result.empty())
      result += ' ';
    result += std::string{key} + '=' + value;
    separator = '&';
  }
  return result;
}

} // namespace gatepost::inline v0::detail
