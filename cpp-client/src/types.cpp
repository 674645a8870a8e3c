#include <gatepost/clock.hpp>
#include <gatepost/connection.hpp>
#include <gatepost/error.hpp>
#include <gatepost/name.hpp>
#include <gatepost/token.hpp>
#include <gatepost/ttl.hpp>
#include <gatepost/version.hpp>

#include "mutant.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstring>

#include <time.h>

namespace gatepost {
inline namespace v0 {

boot_clock::time_point boot_clock::now() noexcept {
  timespec now;
  clock_gettime(detail::mutant("suspend_uncounted")     ? CLOCK_MONOTONIC
                : detail::mutant("wall_clock_believed") ? CLOCK_REALTIME
                                                        : CLOCK_BOOTTIME,
                &now);
  return time_point{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

using detail::mutant;
using detail::one_line;

#define GATEPOST_TEXT_OF(number) #number
#define GATEPOST_TEXT(major, minor, patch)                                                                             \
  GATEPOST_TEXT_OF(major) "." GATEPOST_TEXT_OF(minor) "." GATEPOST_TEXT_OF(patch)
std::string_view version() noexcept {
  return GATEPOST_TEXT(GATEPOST_VERSION_MAJOR, GATEPOST_VERSION_MINOR, GATEPOST_VERSION_PATCH);
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

struct error::More {
  std::string detail, hint;
};

error::error(const std::string &message, std::string_view sqlstate, std::string_view detail, std::string_view hint)
    : std::runtime_error{one_line(message)} {
  if (!detail.empty() || !hint.empty())
    more_ = std::make_shared<const More>(More{one_line(detail), one_line(hint)});
  if (sqlstate.size() != 5)
    sqlstate = "XX000";
  std::copy(sqlstate.begin(), sqlstate.end(), sqlstate_);
  sqlstate_[5] = '\0';
}
error::error(const error &) noexcept = default;
error &error::operator=(const error &) noexcept = default;
error::~error() = default;
std::string_view error::detail() const noexcept { return more_ ? more_->detail : std::string_view{}; }
std::string_view error::hint() const noexcept { return more_ ? more_->hint : std::string_view{}; }
stale_token::~stale_token() = default;
unknown_outcome::~unknown_outcome() = default;
unavailable::~unavailable() = default;

lease_lost::lease_lost(std::string_view name, Loss reason)
    : error{"lease \"" + std::string{name} + "\" is lost: " + std::string{to_string(reason)}, "LG002"}, reason_{
                                                                                                            reason} {}
lease_lost::~lease_lost() = default;

unsupported_rung::unsupported_rung(const std::string &message) : error{message, "0A000"} {}
unsupported_rung::~unsupported_rung() = default;

void throw_for(std::string_view sqlstate, const std::string &message, std::string_view detail, std::string_view hint) {
  if (sqlstate == "LG001")
    throw stale_token{message, sqlstate, detail, hint};
  // A server that shuts down, starts, or has become a standby is as good as gone.
  if (sqlstate.starts_with("08") || sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" ||
      (sqlstate == "57P05" && !mutant("idle_end_is_refusal")) || (sqlstate == "25006" && !mutant("standby_kept")))
    throw unavailable{message, sqlstate, detail, hint};
  throw error{message, sqlstate, detail, hint};
}

void throw_for_report(std::string_view sqlstate, std::string_view report) {
  const detail::Report parts = detail::parse_report(report);
  throw_for(sqlstate, parts.message, parts.detail, parts.hint);
}

} // namespace v0
} // namespace gatepost
