#include "listener.hpp"

#include <gatepost/error.hpp>

#include "mutant.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace gatepost::inline v0::detail {

namespace {

using std::chrono::milliseconds;

/// How long a notification of the test may take, and after how long the test is made again.
constexpr milliseconds test_patience{2000}, test_again{60000};
/// Nobody has waited for so long: the connection is closed.
constexpr std::chrono::seconds idle_time{30};

/// Somebody has been told that his turn has come, and in this client that is one of the first: two, since a place may
/// have been taken just before another and be listened for just after it.
constexpr std::size_t called = 2, everybody = SIZE_MAX;

} // namespace

Listener::Listener(ConnectionFactory factory, std::function<void(const std::string &)> notify, Hooks hooks,
                   std::shared_ptr<TimeSource> clock)
    : factory_{std::move(factory)}, notify_{std::move(notify)}, hooks_{std::move(hooks)}, clock_{std::move(clock)},
      wake_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

void Listener::stop() noexcept {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    if (current_ != nullptr && !polling_)
      current_->abort();
  }
  wanted_.notify_all();
  poke();
}

Listener::~Listener() {
  stop();
  if (thread_.joinable())
    thread_.join();
  if (wake_ >= 0)
    close(wake_);
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
  std::string message;
  {
    const std::lock_guard lock{listener_.mutex_};
    listener_.channels_[channel_].waiters.push_back(this);
    if (!listener_.started_) {
      try {
        listener_.thread_ = start_thread("gatepost-listen", [&listener] { listener.run(); });
        listener_.started_ = true;
      } catch (const std::exception &error) {
        message = error.what();
      }
    }
  }
  if (!message.empty())
    listener_.hooks_.log(LogLevel::warning, "waiting is by looking again: " + message);
  listener_.wanted_.notify_all();
  listener_.poke();
}

Listener::Subscription::~Subscription() {
  const std::lock_guard lock{listener_.mutex_};
  const auto place = listener_.channels_.find(channel_);
  std::erase(place->second.waiters, this);
  if (!place->second.waiters.empty())
    return;
  if (place->second.listening)
    listener_.left_.push_back(channel_);
  listener_.channels_.erase(place);
  listener_.poke();
}

unsigned long Listener::Subscription::heard() const {
  const std::lock_guard lock{listener_.mutex_};
  return heard_;
}

void Listener::Subscription::wait(unsigned long heard, std::chrono::nanoseconds time, const std::stop_token &stop) {
  std::unique_lock lock{listener_.mutex_};
  wake_.wait_for(lock, stop, time, [&] { return heard_ != heard; });
}

void Listener::call(Channel &channel, std::size_t most) {
  most = std::min(most, channel.waiters.size());
  for (std::size_t i = 0; i < most; ++i) {
    ++channel.waiters[i]->heard_;
    channel.waiters[i]->wake_.notify_all();
  }
}

void Listener::run() {
  unsigned failures = 0;
  bool broke = false;
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
      if (std::exchange(broke, false))
        hooks_.metric("gatepost.client.reconnects", 1);
      const Current current{*this, *connection};
      try {
        serve(*connection);
      } catch (...) {
        broke = true;
        throw;
      }
      failures = 0;
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

Listener::Current::Current(Listener &listener, Connection &connection) : listener_{listener} {
  const std::lock_guard lock{listener_.mutex_};
  listener_.current_ = &connection;
}

Listener::Current::~Current() {
  const std::lock_guard lock{listener_.mutex_};
  if (!mutant("ended_connection_aborted"))
    listener_.current_ = nullptr;
}

/// Serves one connection until nobody has needed it for a while, or all is over.
void Listener::serve(Connection &connection) {
  const std::string test_channel = "gatepost_test_" + request_id();
  boot_clock::time_point test_at = clock_->now(), heard_by{}, last_needed = test_at;
  {
    // A stop that came while it was being opened has not seen it.
    const std::lock_guard lock{mutex_};
    if (stopping_ && !mutant("stop_missed_while_opening"))
      return;
  }
  connection.listen(test_channel);
  while (true) {
    std::vector<std::string> fresh, left;
    {
      const std::lock_guard lock{mutex_};
      if (stopping_)
        return;
      for (auto &[name, channel] : channels_)
        if (!channel.listening)
          fresh.push_back(name);
      left.swap(left_);
      if (!channels_.empty())
        last_needed = clock_->now();
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
          if (!mutant("listening_anew_unsaid"))
            call(place->second, everybody);
        } else {
          left_.push_back(name);
        }
    }
    const auto now = clock_->now();
    if (heard_by == boot_clock::time_point{} && now >= test_at && !(mutant("tried_once") && arriving())) {
      notify_(test_channel);
      heard_by = clock_->now() + test_patience;
    } else if (heard_by != boot_clock::time_point{} && now >= heard_by) {
      set_arriving(false);
      heard_by = {};
      test_at = now + test_again;
    }
    if (now - last_needed > idle_time)
      return;
    const auto polling = [this](bool begins) {
      const std::lock_guard lock{mutex_};
      polling_ = begins;
      return !stopping_;
    };
    if (polling(true))
      wait_for_input(connection.socket(), milliseconds{heard_by == boot_clock::time_point{} ? 1000 : 100});
    if (!polling(false))
      return;
    const std::vector<std::string> heard = connection.notifications();
    // Hooks may take their time, and no waiter's.
    if (std::find(heard.begin(), heard.end(), test_channel) != heard.end()) {
      std::unique_lock held{mutex_, std::defer_lock};
      if (mutant("told_under_the_mutex"))
        held.lock();
      set_arriving(true);
      heard_by = {};
      test_at = clock_->now() + test_again;
    }
    const std::lock_guard lock{mutex_};
    for (const std::string &name : heard) {
      if (const auto place = channels_.find(name); place != channels_.end()) {
        call(place->second, mutant("all_woken") ? everybody : called);
      }
    }
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
