#include <gatepost/clock.hpp>
#include <gatepost/connection.hpp>
#include <gatepost/error.hpp>
#include <gatepost/name.hpp>
#include <gatepost/token.hpp>
#include <gatepost/ttl.hpp>

#include <algorithm>
#include <cstring>

#include <time.h>

namespace gatepost {
inline namespace v0 {

boot_clock::time_point boot_clock::now() noexcept {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return time_point{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

TimeSource::~TimeSource() = default;
Connection::~Connection() = default;

Token::Token(std::int64_t value) : value_{value} {
  if (value < 1 || value > highest)
    throw error{"token " + std::to_string(value) + " is out of range, tokens are between 1 and " +
                    std::to_string(highest),
                "22023"};
}

Name::Name(std::string text) : text_{std::move(text)} {
  if (text_.empty())
    throw error{"name must not be empty", "22023"};
  if (text_.size() > longest)
    throw error{"name is " + std::to_string(text_.size()) + " bytes long, at most " + std::to_string(longest) +
                    " are allowed",
                "22023"};
  if (text_.find('\0') != std::string::npos)
    throw error{"name must not hold a zero byte", "22023"};
}

Ttl::Ttl(std::chrono::nanoseconds length) : length_{length} {
  if (length < shortest || length > longest)
    throw error{"ttl is " + std::to_string(std::chrono::duration<double>{length}.count()) +
                    " seconds long, from 0.001 to 86400 are allowed",
                "22023"};
}

std::string_view to_string(Loss reason) noexcept {
  switch (reason) {
  case Loss::expired:
    return "expired";
  case Loss::lapsed:
    return "lapsed";
  case Loss::released:
    return "released";
  case Loss::superseded:
    return "superseded";
  case Loss::broken:
    return "broken";
  case Loss::unknown:
    return "unknown";
  case Loss::hold_limit:
    return "hold_limit";
  case Loss::forked:
    return "forked";
  }
  return "unknown";
}

error::error(const std::string &message, std::string_view sqlstate) : std::runtime_error{message} {
  if (sqlstate.size() != 5)
    sqlstate = "XX000";
  std::copy(sqlstate.begin(), sqlstate.end(), sqlstate_);
  sqlstate_[5] = '\0';
}
error::~error() = default;
stale_token::~stale_token() = default;
unknown_outcome::~unknown_outcome() = default;
unavailable::~unavailable() = default;

lease_lost::lease_lost(std::string_view name, Loss reason)
    : error{"lease \"" + std::string{name} + "\" is lost: " + std::string{to_string(reason)}, "LG002"}, reason_{
                                                                                                            reason} {}
lease_lost::~lease_lost() = default;

unsupported_rung::unsupported_rung(const std::string &message) : error{message, "0A000"} {}
unsupported_rung::~unsupported_rung() = default;

void throw_for(std::string_view sqlstate, const std::string &message) {
  if (sqlstate == "LG001")
    throw stale_token{message, sqlstate};
  // A server that shuts down, starts, or has become a standby is as good as gone.
  if (sqlstate.starts_with("08") || sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" ||
      sqlstate == "25006")
    throw unavailable{message, sqlstate};
  throw error{message, sqlstate};
}

} // namespace v0
} // namespace gatepost
