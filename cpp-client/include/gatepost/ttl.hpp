// How long a lease lasts without being renewed.
#pragma once

#include <gatepost/duration.hpp>
#include <gatepost/export.hpp>

#include <chrono>

namespace gatepost {
inline namespace v0 {

/// From one millisecond to a day; the server may have a lower bound (gatepost.max_ttl). Made from any duration.
class Ttl {
public:
  static constexpr std::chrono::milliseconds shortest{1};
  static constexpr std::chrono::hours longest{24};

  /// Throws error (22023) when the length is out of range.
  GATEPOST_API Ttl(std::chrono::nanoseconds length);
  template <typename Rep, typename Period>
  Ttl(std::chrono::duration<Rep, Period> length) : Ttl{static_cast<std::chrono::nanoseconds>(Duration{length})} {}

  std::chrono::nanoseconds length() const noexcept { return length_; }
  friend auto operator<=>(Ttl, Ttl) noexcept = default;

private:
  std::chrono::nanoseconds length_;
};

} // namespace v0
} // namespace gatepost
