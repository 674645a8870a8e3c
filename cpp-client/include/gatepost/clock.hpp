// The clock that deadlines are counted on.
#pragma once

#include <gatepost/export.hpp>

#include <chrono>

namespace gatepost {
inline namespace v0 {

/// Steady, and goes on while the machine is suspended (CLOCK_BOOTTIME). Steps of the wall clock do not move it.
/// A standard clock, so its time points work with the algebra of <chrono>. Never crosses to another machine.
struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;

  GATEPOST_API static time_point now() noexcept;
};

/// Where a client reads the time. Tests put their own in its place (gatepost/fake.hpp); all others leave it alone.
/// Called from several threads at once.
class GATEPOST_API TimeSource {
public:
  virtual ~TimeSource();
  virtual boot_clock::time_point now() const noexcept = 0;
  /// The longest that a thread sleeps before it reads the time again.
  virtual std::chrono::nanoseconds nap() const noexcept = 0;
};

} // namespace v0
} // namespace gatepost
