// One connection that listens for everybody who waits, opened when the first waits and closed when nobody does.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/options.hpp>

#include "hold.hpp"
#include "hooks.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace gatepost::inline v0::detail {

class Listener {
public:
  /// `notify` sends a notification on a channel by another connection.
  Listener(ConnectionFactory factory, std::function<void(const std::string &)> notify, Hooks hooks,
           std::shared_ptr<TimeSource> clock);
  ~Listener();
  /// Ends what is under way on its own connection; the destructor waits for the rest.
  void stop() noexcept;

  /// Listens on a channel while it lives, or tries to.
  class Subscription {
  public:
    Subscription(Listener &listener, std::string channel);
    ~Subscription();
    Subscription(const Subscription &) = delete;
    Subscription &operator=(const Subscription &) = delete;
    const std::string &channel() const noexcept { return channel_; }

    /// To be read before looking whether what is waited for is so.
    unsigned long heard() const;
    /// Until this one was called after that reading, by a notification or because listening has begun anew, the time is
    /// over, or stop is requested. A notification calls those who have waited longest, not everybody.
    void wait(unsigned long heard, std::chrono::nanoseconds time, const std::stop_token &stop);

  private:
    friend class Listener;
    Listener &listener_;
    const std::string channel_;
    unsigned long heard_ = 0;
    std::condition_variable_any wake_;
  };

  /// Empty before the first test has ended.
  std::optional<bool> arriving() const noexcept;

private:
  struct Channel {
    std::vector<Subscription *> waiters; ///< in order of arrival
    bool listening = false;
  };

  /// What stop() ends while it lives, which the connection outlives.
  class Current {
  public:
    Current(Listener &listener, Connection &connection);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    Listener &listener_;
  };

  void run();
  void serve(Connection &connection);
  /// Under the mutex: so many who wait on the channel, from the first on, look again.
  void call(Channel &channel, std::size_t most);
  void wait_for_input(int socket, std::chrono::milliseconds time);
  void poke() noexcept;
  void set_arriving(bool arrive);

  const ConnectionFactory factory_;
  const std::function<void(const std::string &)> notify_;
  const Hooks hooks_;
  const std::shared_ptr<TimeSource> clock_;
  int wake_ = -1; ///< an eventfd

  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::map<std::string, Channel> channels_;
  std::vector<std::string> left_; ///< to be unlistened
  Connection *current_ = nullptr;
  bool stopping_ = false, started_ = false, polling_ = false;
  std::atomic<int> arriving_{-1};
  std::thread thread_;
};

} // namespace gatepost::inline v0::detail
