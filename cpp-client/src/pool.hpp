// The connections for calls: lent to one caller at a time, and kept for the next.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/error.hpp>

#include "hold.hpp"
#include "hooks.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gatepost::inline v0::detail {

class Pool {
public:
  Pool(ConnectionFactory factory, const ClientOptions &options, const Hooks &hooks)
      : factory_{std::move(factory)}, most_idle_{options.idle_connections},
        most_calls_{std::max(options.calls_at_once, 1u)}, hooks_{hooks} {}

  std::unique_ptr<Connection> take() {
    {
      const std::lock_guard lock{mutex_};
      if (!idle_.empty()) {
        std::unique_ptr<Connection> connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    std::unique_ptr<Connection> fresh = factory_();
    if (replaces_another() || mutant("first_connection_counted"))
      hooks_.metric("gatepost.client.reconnects", 1);
    return fresh;
  }
  /// One that was cut beside its last answer is only closed.
  void give_back(std::unique_ptr<Connection> connection, bool cut = false) {
    const std::lock_guard lock{mutex_};
    if (idle_.size() < most_idle_ && !cut)
      idle_.push_back(std::move(connection));
  }
  /// One has broken, so others may have.
  void drop_idle() {
    std::vector<std::unique_ptr<Connection>> dropped;
    if (mutant("idle_kept_after_a_loss"))
      return;
    const std::lock_guard lock{mutex_};
    broken_ += 1 + idle_.size();
    dropped.swap(idle_);
  }
  const ConnectionFactory &factory() const noexcept { return factory_; }

  /// One of the calls that are made at once. Who finds too many waits for his turn, and until then, by the machine's
  /// clock; throws unavailable when it does not come.
  class Turn {
  public:
    Turn(Pool &pool, Moment end) : pool_{pool} {
      std::unique_lock lock{pool_.mutex_};
      const auto free = [&] { return pool_.calls_ < pool_.most_calls_ || mutant("calls_uncounted"); };
      if (!pool_.turn_.wait_for(lock, std::chrono::nanoseconds{end - machine_now()}, free))
        throw unavailable{"too many calls at once, none of them has ended in time", "53000"};
      ++pool_.calls_;
    }
    ~Turn() {
      const std::lock_guard lock{pool_.mutex_};
      --pool_.calls_;
      pool_.turn_.notify_one();
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

  private:
    Pool &pool_;
  };

private:
  bool replaces_another() {
    const std::lock_guard lock{mutex_};
    return broken_ > 0 && broken_-- > 0;
  }

  const ConnectionFactory factory_;
  const unsigned most_idle_, most_calls_;
  const Hooks &hooks_;
  std::mutex mutex_;
  std::condition_variable turn_;
  unsigned calls_ = 0;
  std::size_t broken_ = 0; ///< so many have none in their place yet
  std::vector<std::unique_ptr<Connection>> idle_;
};

} // namespace gatepost::inline v0::detail
