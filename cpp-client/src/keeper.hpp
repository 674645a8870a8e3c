// Keeps grants alive: one thread and connection renew them all, another thread watches deadlines and tells of what
// happens, and never touches the network.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/options.hpp>

#include "hold.hpp"
#include "hooks.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace gatepost::inline v0::detail {

/// Threads hold on to it, so it outlives its owner when that ends on one of them.
class Keeper : public std::enable_shared_from_this<Keeper> {
public:
  Keeper(ConnectionFactory factory, Hooks hooks, std::shared_ptr<TimeSource> clock);
  void start();
  /// Ends both threads, and waits for them unless it is called on one of them.
  void stop() noexcept;
  /// In a child process, where there are no threads.
  void forget() noexcept;

  void keep(const std::shared_ptr<Hold> &hold, Moment sent);
  /// No renewal or callback of it runs when this returns, and none will; but a callback that calls this goes on.
  void let_go(const std::shared_ptr<Hold> &hold) noexcept;

  /// While it lives: the connection's call is aborted at its end, by the machine's clock.
  class Limit {
  public:
    Limit(Keeper &keeper, Connection &connection, Moment end);
    ~Limit();
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

  private:
    friend class Keeper;
    Keeper &keeper_;
    Connection &connection_;
    const Moment end_;
    bool aborted_ = false;
  };

private:
  using Holds = std::vector<std::shared_ptr<Hold>>;
  using Schedule = std::set<std::pair<Moment, std::shared_ptr<Hold>>>;
  struct Answer {
    enum class Kind { failed, renewed, lost, yield } kind = Kind::failed;
    Moment sent = 0;
    Loss reason = Loss::unknown;
    std::string yield;
  };

  Moment now() const noexcept { return moment(clock_->now()); }
  void pause(std::unique_lock<std::mutex> &lock, std::condition_variable &wake, Moment until);
  void schedule_renewal(const std::shared_ptr<Hold> &hold, Moment at);
  void schedule_check(const std::shared_ptr<Hold> &hold, Moment at);

  void renew();
  bool connected(std::unique_lock<std::mutex> &lock);
  Holds collect(Moment now);
  void ask(std::span<const std::shared_ptr<Hold>> batch, std::span<Answer> answers);
  void settle(const std::shared_ptr<Hold> &hold, Answer &answer, Moment now);

  void watch();
  void check(std::unique_lock<std::mutex> &lock, const std::shared_ptr<Hold> &hold);
  template <typename Call> void fire(std::unique_lock<std::mutex> &lock, Hold &hold, Call &&call);

  const ConnectionFactory factory_;
  const Hooks hooks_;
  const std::shared_ptr<TimeSource> clock_;

  std::mutex mutex_;
  std::condition_variable renew_wake_, watch_wake_, settled_;
  Schedule renewals_, checks_;
  std::vector<Limit *> limits_;            ///< as many as there are calls at the moment
  std::unique_ptr<Connection> connection_; ///< changed by the renewing thread, under the mutex
  Moment connect_at_ = 0;
  unsigned connect_failures_ = 0;
  bool stopping_ = false;
  std::thread renewing_, watching_;
};

} // namespace gatepost::inline v0::detail
