// A wait for the server that comes to its end whatever the server does.
#pragma once

#include "boot_timer.hpp"
#include "signals.hpp"

#include <gatepost/clock.hpp>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

namespace gatepost::cli {

class Waiting;

/// The thread that does it, begun by the first wait and there for the next: to end it would be to wait for it. One for
/// a program, and as long as it lives.
class Watcher {
public:
  explicit Watcher(Signals &signals) : signals_{signals} {}
  Watcher(const Watcher &) = delete;
  Watcher &operator=(const Watcher &) = delete;

private:
  friend class Waiting;
  void watch();

  Signals &signals_;
  Wake wake_;
  BootTimer timer_;
  std::mutex mutex_;
  Waiting *waiting_ = nullptr;
  bool begun_ = false;
};

/// While it lives, a signal that asks to end requests a stop, for calls that know a stop_token. Others, and those that
/// a frozen server holds up all the same, get a second to come back; then the program ends amid the call. So it does
/// when the limit is over.
class Waiting {
public:
  struct Rules {
    std::chrono::nanoseconds limit{0}; ///< 0: none but the call's own
    std::optional<int> status{};       ///< of a program that ends amid the call; 128 and the signal when not given
    std::function<void(int status)> last_words{};
  };
  explicit Waiting(Watcher &watcher) : Waiting{watcher, {}} {}
  Waiting(Watcher &watcher, Rules rules);
  ~Waiting();
  Waiting(const Waiting &) = delete;
  Waiting &operator=(const Waiting &) = delete;

  std::stop_token token() const noexcept { return stop_.get_token(); }
  /// That came, or 0.
  int signal() const noexcept;
  /// Ends the watch; the signal that came, or 0.
  int end() noexcept;

private:
  friend class Watcher;
  /// Called under the mutex.
  void hear(int signal);
  bool over() const noexcept { return boot_clock::now() >= latest_; }

  Watcher &watcher_;
  const Rules rules_;
  std::stop_source stop_;
  boot_clock::time_point latest_ = boot_clock::time_point::max();
  int signal_ = 0;
};

} // namespace gatepost::cli
