#include "waiting.hpp"

#include "command.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <poll.h>

namespace gatepost::cli {

namespace {

/// For the farewell to a server that answers: giving back what is held, leaving the queue.
constexpr std::chrono::seconds farewell{1};

} // namespace

void Watcher::watch() {
  bool active = true;
  while (true) {
    // Signals that come between waits are for whoever looks for them then.
    pollfd files[]{{wake_.file(), POLLIN, 0},
                   {active ? signals_.file() : -1, POLLIN, 0},
                   {active ? timer_.file() : -1, POLLIN, 0}};
    if (poll(files, 3, -1) < 0 && errno != EINTR)
      return;
    if ((files[0].revents & POLLIN) != 0)
      wake_.take();
    const std::lock_guard lock{mutex_};
    active = waiting_ != nullptr;
    if (!active)
      continue;
    for (int signal = signals_.take(); signal != 0; signal = signals_.take())
      waiting_->hear(signal);
    if (!waiting_->over() || mutant("server_waited_for"))
      continue;
    // Under the mutex, so that the wait does not end meanwhile.
    const int signal = waiting_->signal_;
    const int status = waiting_->rules_.status.value_or(signal != 0 ? 128 + signal : static_cast<int>(no_server));
    if (waiting_->rules_.last_words)
      waiting_->rules_.last_words(status);
    leave(status);
  }
}

Waiting::Waiting(Watcher &watcher, Rules rules) : watcher_{watcher}, rules_{std::move(rules)} {
  const std::lock_guard lock{watcher_.mutex_};
  if (rules_.limit.count() > 0) {
    latest_ = boot_clock::now() + rules_.limit;
    watcher_.timer_.set(latest_);
  } else {
    watcher_.timer_.clear();
  }
  watcher_.waiting_ = this;
  if (std::exchange(watcher_.begun_, true))
    watcher_.wake_.call();
  else
    std::thread{[&watcher] { watcher.watch(); }}.detach();
}

Waiting::~Waiting() { end(); }

void Waiting::hear(int signal) {
  if (signal_ != 0 || !asks_to_end(signal))
    return;
  signal_ = signal;
  latest_ = std::min(latest_, boot_clock::now() + std::chrono::nanoseconds{farewell});
  watcher_.timer_.set(latest_);
  stop_.request_stop();
}

int Waiting::signal() const noexcept {
  const std::lock_guard lock{watcher_.mutex_};
  return signal_;
}

int Waiting::end() noexcept {
  const std::lock_guard lock{watcher_.mutex_};
  if (watcher_.waiting_ == this)
    watcher_.waiting_ = nullptr;
  return signal_;
}

} // namespace gatepost::cli
