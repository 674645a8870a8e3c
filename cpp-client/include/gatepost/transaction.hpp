// A transaction of the client's own, as with_lock() gives it to the work.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/export.hpp>

#include <initializer_list>
#include <span>
#include <string>

namespace gatepost {
inline namespace v0 {

namespace detail {
class Core;
}

/// Open while the work runs, and committed when it returns. Used by one thread at a time; neither copied nor moved.
class GATEPOST_API Transaction {
public:
  explicit Transaction(Connection &connection) noexcept : connection_{&connection} {}
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;

  /// One statement with parameters $1, $2 ... Throws error with the server's SQLSTATE, or unavailable.
  Rows execute(const std::string &sql, std::span<const Value> parameters = {}) {
    try {
      return connection_->execute(sql, parameters);
    } catch (...) {
      failed_ = true;
      throw;
    }
  }
  Rows execute(const std::string &sql, std::initializer_list<Value> parameters) {
    return execute(sql, std::span<const Value>{parameters.begin(), parameters.size()});
  }

private:
  friend class detail::Core;

  Connection *connection_;
  bool failed_ = false; ///< a statement has; perhaps the work has gone back to a savepoint since
};

} // namespace v0
} // namespace gatepost
