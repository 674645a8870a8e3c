// The client: where guards come from.
#pragma once

#include <gatepost/advisory_lock.hpp>
#include <gatepost/connection.hpp>
#include <gatepost/grant.hpp>
#include <gatepost/options.hpp>
#include <gatepost/transaction.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace gatepost {
inline namespace v0 {

/// A semaphore: how many permits its name has, and how many of them one grant takes.
struct Semaphore {
  Name name;
  int permits;
  int weight = 1;
};

/// Threads: any number may use one client at once; it has one connection and thread that renew all guards, a thread
/// that tells of losses, and connections for calls that come and go. Connecting is put off until something is asked.
///
/// A client may be destroyed before its guards: they are kept alive until the last of them has ended. In a child
/// process after fork() every guard is lost (forked), destroying guards and client does nothing, and calls throw
/// unavailable: make a new client there. Threads of a client receive no signals.
///
/// In all acquiring calls: `ttl`, when not given, is ClientOptions::ttl. Busy is an empty optional. They throw
/// unknown_outcome when the answer was lost and asking again with the same request id did not settle it in time (a
/// grant there may be then lapses by itself), unavailable when nothing was asked, lease_lost never, and error for what
/// the server refuses: the rights, the arguments.
class GATEPOST_API Client {
public:
  /// By libpqxx, see open_connection(). Behind a pooler in transaction mode too. Throws unavailable when no thread is
  /// to be had.
  explicit Client(const std::string &conninfo, ClientOptions options = {});
  /// By a factory, or from a pool.
  explicit Client(ConnectionFactory factory, ClientOptions options = {});
  ~Client();
  Client(Client &&) noexcept;            ///< moved from: only to be destroyed or assigned to
  Client &operator=(Client &&) noexcept; ///< guards of the one before go on
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;

  /// One try.
  std::optional<Lease> try_acquire(const Name &name, std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});
  /// Waits without keeping a server process busy: in the server's queue and with its notifications, or where these do
  /// not arrive (poolers) looking again about every second. While the server is away it goes on trying.
  Lease acquire(const Name &name, std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});
  /// Empty when stop was requested.
  std::optional<Lease> acquire(const Name &name, std::stop_token stop, std::optional<Ttl> ttl = {},
                               const LeaseOptions &options = {});
  /// Empty when the time is over or stop was requested. A timeout that is zero or negative is one try.
  std::optional<Lease> acquire_for(const Name &name, std::chrono::nanoseconds timeout, std::optional<Ttl> ttl = {},
                                   const LeaseOptions &options = {}, std::stop_token stop = {});
  std::optional<Lease> acquire_until(const Name &name, boot_clock::time_point end, std::optional<Ttl> ttl = {},
                                     const LeaseOptions &options = {}, std::stop_token stop = {});
  /// Takes over what detach() left, or a token from elsewhere: renews it. Throws lease_lost when it is no longer held.
  Lease adopt(const Name &name, Token token, std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});

  /// The same for permits of a semaphore. They wait by looking again.
  std::optional<Permit> try_acquire(const Semaphore &semaphore, std::optional<Ttl> ttl = {},
                                    const LeaseOptions &options = {});
  Permit acquire(const Semaphore &semaphore, std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});
  std::optional<Permit> acquire_for(const Semaphore &semaphore, std::chrono::nanoseconds timeout,
                                    std::optional<Ttl> ttl = {}, const LeaseOptions &options = {},
                                    std::stop_token stop = {});

  /// A lock of a session of its own, without a time limit. Throws unsupported_rung behind a pooler.
  std::optional<AdvisoryLock> try_advisory_lock(const Name &name);
  AdvisoryLock advisory_lock(const Name &name);

  /// Waits for the lease, calls work(lease), releases, and returns what work returned. When work throws, that is what
  /// arrives. Throws lease_lost when the lease was lost while work ran.
  template <typename Work> auto with_lease(const Name &name, Work &&work) {
    return with_lease(name, std::nullopt, std::forward<Work>(work));
  }
  template <typename Work> auto with_lease(const Name &name, std::optional<Ttl> ttl, Work &&work) {
    Lease lease = acquire(name, ttl);
    if constexpr (std::is_void_v<std::invoke_result_t<Work &, Lease &>>) {
      work(lease);
      finish(lease);
    } else {
      auto result = work(lease);
      finish(lease);
      return result;
    }
  }

  /// Lock, work and commit in one transaction: waits for the advisory lock of the name, calls work(transaction),
  /// commits. When work throws it is rolled back, and that is what arrives. Throws unknown_outcome when the commit's
  /// answer was lost.
  void with_lock(const Name &name, const std::function<void(Transaction &)> &work);

  /// Asks the holder to give the lease up. False: nobody holds it.
  bool request_yield(const Name &name, const std::string &reason);

  /// One statement of its own on one of the client's connections; not tried again. Throws as Connection::execute.
  Rows execute(const std::string &sql, std::span<const Value> parameters = {});

  /// Whether notifications have been seen to arrive; empty until a first wait has tried it.
  std::optional<bool> notifications_arrive() const noexcept;
  const ClientOptions &options() const noexcept;

private:
  friend struct detail::Access;
  static void finish(Lease &lease);

  std::shared_ptr<detail::Core> core_;
};

} // namespace v0
} // namespace gatepost
