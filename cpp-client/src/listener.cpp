#include "listener.hpp"

#include <gatepost/error.hpp>

#include <algorithm>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace gatepost::inline v0::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How long a notification of the test may take, and after how long the test is made again.
constexpr milliseconds test_patience{2000}, test_again{60000};
/// Nobody has waited for so long: the connection is closed.
constexpr std::chrono::seconds idle_time{30};

} // namespace

Listener::Listener(ConnectionFactory factory, std::function<void(const std::string &)> notify, Hooks hooks)
    : factory_{std::move(factory)}, notify_{std::move(notify)}, hooks_{std::move(hooks)}, wake_{eventfd(
                                                                                              0, EFD_NONBLOCK |
                                                                                                     EFD_CLOEXEC)} {}

Listener::~Listener() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    if (current_ != nullptr)
      current_->abort();
  }
  wanted_.notify_all();
  poke();
  if (thread_.joinable())
    thread_.join();
  if (wake_ >= 0)
    close(wake_);
}

void Listener::forget() noexcept {
  if (thread_.joinable())
    thread_.detach();
}

std::optional<bool> Listener::arriving() const noexcept {
  const int value = arriving_.load();
  return value < 0 ? std::nullopt : std::optional{value == 1};
}

void Listener::set_arriving(bool arrive) {
  if (arriving_.exchange(arrive ? 1 : 0) == (arrive ? 1 : 0))
    return;
  hooks_.metric("gatepost.client.notifications.arrive", arrive ? 1 : 0);
  if (!arrive)
    hooks_.log(LogLevel::warning,
               "notifications do not arrive, perhaps because of a pooler; waiting is by looking again");
}

void Listener::poke() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
}

Listener::Subscription::Subscription(Listener &listener, std::string channel)
    : listener_{listener}, channel_{std::move(channel)} {
  const std::lock_guard lock{listener_.mutex_};
  ++listener_.channels_[channel_].waiters;
  if (!listener_.started_) {
    try {
      listener_.thread_ = start_thread("gatepost-listen", [&listener] { listener.run(); });
      listener_.started_ = true;
    } catch (const std::exception &error) {
      listener_.hooks_.log(LogLevel::warning, std::string{"waiting is by looking again: "} + error.what());
    }
  }
  listener_.wanted_.notify_all();
  listener_.poke();
}

Listener::Subscription::~Subscription() {
  const std::lock_guard lock{listener_.mutex_};
  const auto place = listener_.channels_.find(channel_);
  if (--place->second.waiters > 0)
    return;
  if (place->second.listening)
    listener_.left_.push_back(channel_);
  listener_.channels_.erase(place);
  listener_.poke();
}

unsigned long Listener::Subscription::heard() const {
  const std::lock_guard lock{listener_.mutex_};
  return listener_.channels_.find(channel_)->second.heard;
}

void Listener::Subscription::wait(unsigned long heard, std::chrono::nanoseconds time, const std::stop_token &stop) {
  std::unique_lock lock{listener_.mutex_};
  const Channel &channel = listener_.channels_.find(channel_)->second;
  listener_.heard_.wait_for(lock, stop, time, [&] { return channel.heard != heard; });
}

void Listener::run() {
  unsigned failures = 0;
  while (true) {
    {
      std::unique_lock lock{mutex_};
      wanted_.wait(lock, [this] { return stopping_ || !channels_.empty(); });
      if (stopping_)
        return;
      for (auto &[name, channel] : channels_)
        channel.listening = false;
      left_.clear();
    }
    try {
      const std::unique_ptr<Connection> connection = factory_();
      const auto publish = [this](Connection *current) {
        const std::lock_guard lock{mutex_};
        current_ = current;
        return stopping_;
      };
      if (publish(connection.get()))
        return;
      try {
        while (serve(*connection))
          failures = 0;
      } catch (...) {
        publish(nullptr);
        throw;
      }
      publish(nullptr);
      continue;
    } catch (const std::exception &error) {
      hooks_.log(LogLevel::warning, std::string{"the connection for notifications failed: "} + error.what());
    } catch (...) {
      hooks_.log(LogLevel::warning, "the connection for notifications failed");
    }
    std::unique_lock lock{mutex_};
    wanted_.wait_for(lock, backoff(failures++), [this] { return stopping_; });
  }
}

/// Serves one connection; false when nobody has needed it for a while, or all is over.
bool Listener::serve(Connection &connection) {
  const std::string test_channel = "gatepost_test_" + request_id();
  steady_clock::time_point test_at = steady_clock::now(), heard_by{}, last_needed = test_at;
  connection.listen(test_channel);
  while (true) {
    std::vector<std::string> fresh, left;
    {
      const std::lock_guard lock{mutex_};
      if (stopping_)
        return false;
      for (auto &[name, channel] : channels_)
        if (!channel.listening)
          fresh.push_back(name);
      left.swap(left_);
      if (!channels_.empty())
        last_needed = steady_clock::now();
    }
    for (const std::string &name : left)
      connection.unlisten(name);
    for (const std::string &name : fresh)
      connection.listen(name);
    if (!fresh.empty()) {
      // What was sent before is lost, so everybody looks again.
      const std::lock_guard lock{mutex_};
      for (const std::string &name : fresh)
        if (const auto place = channels_.find(name); place != channels_.end()) {
          place->second.listening = true;
          ++place->second.heard;
        } else {
          left_.push_back(name);
        }
      heard_.notify_all();
    }
    const auto now = steady_clock::now();
    if (heard_by == steady_clock::time_point{} && now >= test_at) {
      notify_(test_channel);
      heard_by = steady_clock::now() + test_patience;
    } else if (heard_by != steady_clock::time_point{} && now >= heard_by) {
      set_arriving(false);
      heard_by = {};
      test_at = now + test_again;
    }
    if (now - last_needed > idle_time)
      return false;
    wait_for_input(connection.socket(), milliseconds{heard_by == steady_clock::time_point{} ? 1000 : 100});
    const std::vector<std::string> heard = connection.notifications();
    const std::lock_guard lock{mutex_};
    for (const std::string &name : heard) {
      if (name == test_channel) {
        set_arriving(true);
        heard_by = {};
        test_at = steady_clock::now() + test_again;
      } else if (const auto place = channels_.find(name); place != channels_.end()) {
        ++place->second.heard;
      }
    }
    if (!heard.empty())
      heard_.notify_all();
  }
}

void Listener::wait_for_input(int socket, milliseconds time) {
  pollfd files[2] = {{wake_, POLLIN, 0}, {socket, POLLIN, 0}};
  // Without a socket there is nothing to wait on but time.
  if (socket < 0)
    time = std::min(time, milliseconds{50});
  poll(files, socket < 0 ? 1 : 2, static_cast<int>(time.count()));
  std::uint64_t count;
  [[maybe_unused]] const auto got = read(wake_, &count, sizeof count);
}

} // namespace gatepost::inline v0::detail
