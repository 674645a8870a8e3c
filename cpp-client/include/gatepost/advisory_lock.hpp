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
/// Movable, not copyable; used by one thread at a time. Moved from, it holds nothing, and name() must not be asked.
class [[nodiscard]] GATEPOST_API AdvisoryLock {
public:
  AdvisoryLock(AdvisoryLock &&other) noexcept;
  AdvisoryLock &operator=(AdvisoryLock &&other) noexcept;
  AdvisoryLock(const AdvisoryLock &) = delete;
  AdvisoryLock &operator=(const AdvisoryLock &) = delete;
  /// Releases; what goes wrong is logged.
  ~AdvisoryLock();

  /// As the server knows it, with the client's prefix; also after release().
  const Name &name() const noexcept;
  /// Without the network: false when the end of the connection has arrived here, in good order or not, with TLS or
  /// without. A connection cut elsewhere, of which nothing arrives, is noticed later; check() asks. With connections of
  /// one's own that have no socket (-1), only check() tells.
  bool held() const noexcept;
  /// The same in the words of a grant: held, lost or released (also moved from), never at_risk.
  State state() const noexcept;
  /// Asks the server. Throws unavailable when the connection, and with it the lock, is lost: also when no answer comes
  /// within ClientOptions::call_timeout.
  void check();
  /// True: unlocked. False: the session did not hold it any more, or the guard holds nothing.
  [[nodiscard]] bool release() noexcept;

private:
  friend struct detail::Access;
  struct Session;
  explicit AdvisoryLock(std::unique_ptr<Session> session) noexcept;

  std::unique_ptr<Session> session_;
};

} // namespace v0
} // namespace gatepost
