// The guard of an advisory lock that a session holds.
#pragma once

#include <gatepost/connection.hpp>
#include <gatepost/grant.hpp>

#include <memory>

namespace gatepost {
inline namespace v0 {

/// Keeps a connection of its own. No ttl: held until it is released or the connection breaks, and then lost without a
/// word from the server. Data that outlive that moment need a lease and its token.
///
/// Movable, not copyable; used by one thread at a time. Moved from, it holds nothing.
class [[nodiscard]] GATEPOST_API AdvisoryLock {
public:
  AdvisoryLock(AdvisoryLock &&other) noexcept;
  AdvisoryLock &operator=(AdvisoryLock &&other) noexcept;
  AdvisoryLock(const AdvisoryLock &) = delete;
  AdvisoryLock &operator=(const AdvisoryLock &) = delete;
  /// Releases; what goes wrong is logged.
  ~AdvisoryLock();

  const Name &name() const noexcept;
  /// Without the network: false when the end of the connection has arrived here. A connection cut elsewhere is noticed
  /// later; check() asks.
  bool held() const noexcept;
  /// Asks the server. Throws unavailable when the connection, and with it the lock, is lost.
  void check();
  /// True: unlocked. False: the session did not hold it any more, or the guard holds nothing.
  bool release() noexcept;

private:
  friend struct detail::Access;
  struct Session;
  explicit AdvisoryLock(std::unique_ptr<Session> session) noexcept;

  std::unique_ptr<Session> session_;
};

} // namespace v0
} // namespace gatepost
