// Keeps grants alive: one thread and connection renew them all; another watches deadlines, requests stops and cuts
// calls that take too long, and never touches the network; a third, which begins when there is first something to tell,
// runs what is the user's: callbacks, and the hooks that tell of losses.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/options.hpp>

#include "hold.hpp"
#include "hooks.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gatepost::inline v0::detail {

/// Threads hold on to it, so it outlives its owner when that ends on one of them.
class Keeper : public std::enable_shared_from_this<Keeper> {
public:
  Keeper(ConnectionFactory factory, Hooks hooks, std::shared_ptr<TimeSource> clock);
  void start();
  /// Ends the threads, and waits for them unless it is called on one of them. What is left to tell is told before.
  void stop() noexcept;

  void keep(const std::shared_ptr<Hold> &hold, Moment sent);
  /// No renewal or callback of it runs when this returns, and none will; but within a callback none is waited for.
  void let_go(const std::shared_ptr<Hold> &hold) noexcept;

  /// While it lives: the connection's call is aborted at its end, by the machine's clock.
  class Limit {
  public:
    /// `cut`, if any, is told at the end whether it was: then the connection is of no use, though an answer came.
    Limit(Keeper &keeper, Connection &connection, Moment end, bool *cut = nullptr);
    ~Limit();
    Limit(const Limit &) = delete;
    Limit &operator=(const Limit &) = delete;

  private:
    friend class Keeper;
    void abort() noexcept; ///< under the keeper's mutex
    Keeper &keeper_;
    Connection &connection_;
    const Moment end_;
    bool *const cut_;
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

  /// Of a guard, for those who want to hear it.
  struct News {
    enum class Kind { lost, yield, late } kind;
    std::shared_ptr<Hold> hold;
    Loss reason = Loss::unknown;
    std::string yield{};
  };

  Moment now() const noexcept { return moment(clock_->now()); }
  /// One that sleeps, and when it looks again by itself: who has something later to be looked at need not wake it.
  struct Sleeper {
    std::condition_variable wake{};
    Moment until = 0;

    void look_at(Moment at) noexcept {
      if ((at < until && !mutant("nearer_overslept")) || mutant("woken_for_nothing"))
        wake.notify_all();
    }
  };
  void pause(std::unique_lock<std::mutex> &lock, Sleeper &sleeper, Moment until);
  void schedule_renewal(const std::shared_ptr<Hold> &hold, Moment at);
  void schedule_check(const std::shared_ptr<Hold> &hold, Moment at);

  void renew();
  bool connected(std::unique_lock<std::mutex> &lock);
  Holds collect(Moment now);
  void ask(std::span<const std::shared_ptr<Hold>> batch, std::span<Answer> answers);
  void settle(const std::shared_ptr<Hold> &hold, Answer &answer, Moment now);

  void watch();
  void check(std::unique_lock<std::mutex> &lock, const std::shared_ptr<Hold> &hold);
  void add(std::unique_lock<std::mutex> &lock, News news);
  void hand_over(std::unique_lock<std::mutex> &lock);

  void tell_all();
  void tell(std::unique_lock<std::mutex> &lock, const News &news);
  void say(const News &news, const Callbacks &callbacks);

  const ConnectionFactory factory_;
  const Hooks hooks_;
  const std::shared_ptr<TimeSource> clock_;

  std::mutex mutex_;
  Sleeper renewer_, watcher_;
  std::condition_variable settled_, told_;
  Schedule renewals_, checks_;
  std::vector<Limit *> limits_;            ///< as many as there are calls at the moment
  std::unique_ptr<Connection> connection_; ///< changed by the renewing thread, under the mutex
  Moment connect_at_ = 0;
  unsigned connect_failures_ = 0;
  bool broke_ = false; ///< there has been a connection, and it broke
  bool stopping_ = false, asking_ = false;
  bool watched_ = false;    ///< the watching thread adds no more news
  bool untellable_ = false; ///< a callback has ended all
  std::vector<News> fresh_; ///< of the watching thread: told when all that is due has been looked at
  std::deque<News> news_;
  std::thread::id telling_on_; ///< while something is being told
  std::thread renewing_, watching_, telling_;
};

} // namespace gatepost::inline v0::detail
