#include "boot_timer.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cstdint>

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

namespace gatepost::cli {

BootTimer::BootTimer() : file_{timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)} {
  if (file_ < 0)
    throw Failure{internal, "no timer is to be had"};
}
BootTimer::~BootTimer() { close(file_); }

void BootTimer::set(boot_clock::time_point at) noexcept {
  // 0 would disarm it.
  const std::int64_t moment = std::max<std::int64_t>(at.time_since_epoch().count(), 1);
  const itimerspec when{{0, 0}, {moment / 1'000'000'000, moment % 1'000'000'000}};
  timerfd_settime(file_, TFD_TIMER_ABSTIME, &when, nullptr);
}
void BootTimer::clear() noexcept {
  const itimerspec never{};
  timerfd_settime(file_, 0, &never, nullptr);
}

Wake::Wake() : file_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (file_ < 0)
    throw Failure{internal, "no eventfd is to be had"};
}
Wake::~Wake() { close(file_); }

void Wake::call() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(file_, &one, sizeof one);
}
void Wake::take() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(file_, &count, sizeof count);
}

} // namespace gatepost::cli
