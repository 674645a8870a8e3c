// A connection in front of another, for tests that step in between.
#pragma once

#include <gatepost/connection.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace gatepost::test {

struct Wrapped : Connection {
  /// Called before each statement; may throw in its place.
  using Before = std::function<void(const std::string &sql, std::span<const Value> parameters)>;

  explicit Wrapped(std::unique_ptr<Connection> inner_, Before before_ = {})
      : inner{std::move(inner_)}, before{std::move(before_)} {}
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    if (before)
      before(sql, parameters);
    return inner->execute(sql, parameters);
  }
  void listen(const std::string &channel) override { inner->listen(channel); }
  void unlisten(const std::string &channel) override { inner->unlisten(channel); }
  std::vector<std::string> notifications() override { return inner->notifications(); }
  int socket() const noexcept override { return inner->socket(); }
  int backend_pid() const noexcept override { return inner->backend_pid(); }
  void abort() noexcept override { inner->abort(); }

  std::unique_ptr<Connection> inner;
  Before before;
};

} // namespace gatepost::test
