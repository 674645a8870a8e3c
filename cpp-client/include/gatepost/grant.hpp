// What leases and permits have in common: a grant of the server that is kept alive.
#pragma once

#include <gatepost/clock.hpp>
#include <gatepost/duration.hpp>
#include <gatepost/error.hpp>
#include <gatepost/name.hpp>
#include <gatepost/token.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

namespace gatepost {
inline namespace v0 {

namespace detail {
class Core;
struct Hold;
struct Access;
} // namespace detail

/// A guard's state, worked out when it is asked for:
///
///                 held()   means                                      next
///   held          true     the last renewal was in time               at_risk, lost, released
///   at_risk       true     less than the margin is left: it is late   held, lost, released
///   lost          false    see loss(); final                          -
///   released      false    released, detached or moved from; final    -
enum class State { held, at_risk, lost, released };

/// Movable, not copyable. Constant members may be called by any threads at once, also while the grant is renewed or
/// lost; the others, moving and destroying by one thread while no other uses the guard. A guard may be made on one
/// thread and ended on another. Moved from, it is as released: held() is false, name() and token() must not be asked.
///
/// The own deadline is counted from before the request was sent, and the margin is taken off, so held() ends before the
/// server's time does. Once false it stays false.
class [[nodiscard]] GATEPOST_API Grant {
public:
  Grant(Grant &&other) noexcept;
  Grant &operator=(Grant &&other) noexcept; ///< what was held before is given back first, as by the destructor
  Grant(const Grant &) = delete;
  Grant &operator=(const Grant &) = delete;

  /// As the server knows it, with the client's prefix.
  const Name &name() const noexcept;
  Token token() const noexcept;

  /// When held() becomes false unless a renewal is confirmed before.
  boot_clock::time_point deadline() const noexcept;
  /// Without the network.
  bool held() const noexcept;
  State state() const noexcept;
  /// Empty unless state() is lost.
  std::optional<Loss> loss() const noexcept;
  /// Throws lease_lost unless held, with at least so much left. Waiting for a renewal is not tried.
  void require(Duration min_remaining = {}) const;
  /// Stop is requested when the grant is lost, not when it is released, and before any callback of the client hears of
  /// it. What a std::stop_callback does runs on the thread that watches all guards of the client: it must not wait, and
  /// end no guard.
  std::stop_token stop_token() const noexcept;

  /// Gives the grant back. True: the server has taken it back. False: it was not, or no longer, this guard's; or it had
  /// been released or moved from. Renewals have ended when the request is sent. Throws unknown_outcome when it was sent
  /// and there is no answer in time, unavailable when it was not sent; the guard has ended all the same, and the grant
  /// lapses by itself.
  [[nodiscard]] bool release();

  /// Ends the guard and leaves the grant on the server, for adopt() within its ttl. Throws lease_lost unless held.
  [[nodiscard]] Token detach();

protected:
  friend struct detail::Access;
  Grant(std::shared_ptr<detail::Core> core, std::shared_ptr<detail::Hold> hold) noexcept;
  /// Releases; what goes wrong is logged.
  ~Grant();

private:
  void end() noexcept;

  std::shared_ptr<detail::Core> core_;
  std::shared_ptr<detail::Hold> hold_;
};

/// The guard of a lease.
class [[nodiscard]] GATEPOST_API Lease : public Grant {
  friend struct detail::Access;
  using Grant::Grant;
};

/// The guard of a semaphore's permit.
class [[nodiscard]] GATEPOST_API Permit : public Grant {
  friend struct detail::Access;
  using Grant::Grant;
};

} // namespace v0
} // namespace gatepost
