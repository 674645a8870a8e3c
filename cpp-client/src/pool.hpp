// The connections for calls: lent to one caller at a time, and kept for the next.
#pragma once

#include <gatepost/connection.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace gatepost::inline v0::detail {

class Pool {
public:
  Pool(ConnectionFactory factory, unsigned idle) : factory_{std::move(factory)}, most_idle_{idle} {}

  std::unique_ptr<Connection> take() {
    {
      const std::lock_guard lock{mutex_};
      if (!idle_.empty()) {
        std::unique_ptr<Connection> connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    return factory_();
  }
  void give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock{mutex_};
    if (idle_.size() < most_idle_)
      idle_.push_back(std::move(connection));
  }
  /// One has broken, so others may have.
  void drop_idle() {
    std::vector<std::unique_ptr<Connection>> dropped;
    const std::lock_guard lock{mutex_};
    dropped.swap(idle_);
  }
  const ConnectionFactory &factory() const noexcept { return factory_; }

private:
  const ConnectionFactory factory_;
  const unsigned most_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

} // namespace gatepost::inline v0::detail
