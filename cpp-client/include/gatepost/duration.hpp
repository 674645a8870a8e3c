// Lengths of time, of whatever unit.
#pragma once

#include <gatepost/export.hpp>

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace gatepost {
inline namespace v0 {

/// In nanoseconds. Made from any duration: what they cannot hold becomes the longest, or the most negative, that they
/// can, 292 years; what is not a number is zero.
class Duration {
public:
  constexpr Duration() noexcept = default;
  template <typename Rep, typename Period>
  constexpr Duration(std::chrono::duration<Rep, Period> length) noexcept : nanoseconds_{clamped(length)} {}

  constexpr operator std::chrono::nanoseconds() const noexcept { return nanoseconds_; }
  constexpr std::int64_t count() const noexcept { return nanoseconds_.count(); }
  friend constexpr auto operator<=>(Duration, Duration) noexcept = default;

private:
  template <typename Rep, typename Period>
  static constexpr std::chrono::nanoseconds clamped(std::chrono::duration<Rep, Period> length) noexcept {
    using std::chrono::nanoseconds;
    if constexpr (std::same_as<std::chrono::duration<Rep, Period>, nanoseconds>) {
      return length;
    } else {
      const std::chrono::duration<long double, std::nano> wide{length};
      // The highest is no power of two, and where the type is narrow it is rounded up to one.
      constexpr long double end = 9223372036854775808.0L;
      if (!(wide.count() > -end && wide.count() < end))
        return wide.count() >= end ? nanoseconds::max() : wide.count() <= -end ? nanoseconds::min() : nanoseconds{0};
      return std::chrono::duration_cast<nanoseconds>(length);
    }
  }

  std::chrono::nanoseconds nanoseconds_{0};
};

namespace detail {
/// How long until then, by the time point's own clock.
template <typename Clock, typename Length> Duration left_until(std::chrono::time_point<Clock, Length> end) {
  const std::int64_t then = Duration{end.time_since_epoch()}.count();
  const std::int64_t now = Duration{Clock::now().time_since_epoch()}.count();
  if (now < 0 && then > std::numeric_limits<std::int64_t>::max() + now)
    return std::chrono::nanoseconds::max();
  if (now > 0 && then < std::numeric_limits<std::int64_t>::min() + now)
    return std::chrono::nanoseconds::min();
  return std::chrono::nanoseconds{then - now};
}
} // namespace detail

} // namespace v0
} // namespace gatepost
