// A file that can be waited for together with others, and is ready at a moment of boot_clock, suspended or not.
#pragma once

#include <gatepost/clock.hpp>

namespace gatepost::cli {

class BootTimer {
public:
  BootTimer();
  ~BootTimer();
  BootTimer(const BootTimer &) = delete;
  BootTimer &operator=(const BootTimer &) = delete;

  void set(boot_clock::time_point at) noexcept;
  void clear() noexcept;
  int file() const noexcept { return file_; }

private:
  int file_;
};

/// Wakes a poll() from another thread.
class Wake {
public:
  Wake();
  ~Wake();
  Wake(const Wake &) = delete;
  Wake &operator=(const Wake &) = delete;

  void call() noexcept;
  void take() noexcept;
  int file() const noexcept { return file_; }

private:
  int file_;
};

} // namespace gatepost::cli
