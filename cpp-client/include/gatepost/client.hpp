// The client: where guards come from.
#pragma once

#include <gatepost/advisory_lock.hpp>
#include <gatepost/connection.hpp>
#include <gatepost/duration.hpp>
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
/// that watches deadlines, one for callbacks from the first on that is to run, and connections for calls that come and
/// go. Connecting is put off until something is asked.
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
  /// Over open_connection(). Behind a pooler in transaction mode too. Throws unavailable when no thread is
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
  [[nodiscard]] std::optional<Lease> try_acquire(const Name &name, std::optional<Ttl> ttl = {},
                                                 const LeaseOptions &options = {});
  /// Waits without keeping a server process busy: in the server's queue and with its notifications, or where these do
  /// not arrive (poolers) looking again about every second. While the server is away it goes on trying.
  [[nodiscard]] Lease acquire(const Name &name, std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});
  /// Empty when stop was requested.
  [[nodiscard]] std::optional<Lease> acquire(const Name &name, std::stop_token stop, std::optional<Ttl> ttl = {},
                                             const LeaseOptions &options = {});
  /// Empty when the time is over or stop was requested; unknown_outcome when the time is over and the last try has had
  /// no answer. A timeout that is zero or negative is one try.
  [[nodiscard]] std::optional<Lease> acquire_for(const Name &name, Duration timeout, std::optional<Ttl> ttl = {},
                                                 const LeaseOptions &options = {}, std::stop_token stop = {});
  /// The same, until a moment of any clock. What is left by that clock is read once, at the call; boot_clock is the
  /// client's own.
  [[nodiscard]] std::optional<Lease> acquire_until(const Name &name, boot_clock::time_point end,
                                                   std::optional<Ttl> ttl = {}, const LeaseOptions &options = {},
                                                   std::stop_token stop = {});
  template <typename Clock, typename Length>
  [[nodiscard]] std::optional<Lease> acquire_until(const Name &name, std::chrono::time_point<Clock, Length> end,
                                                   std::optional<Ttl> ttl = {}, const LeaseOptions &options = {},
                                                   std::stop_token stop = {}) {
    if constexpr (std::is_same_v<Clock, boot_clock>)
      return acquire_until(name, boot_clock::time_point{Duration{end.time_since_epoch()}}, ttl, options, stop);
    else
      return acquire_for(name, detail::left_until(end), ttl, options, stop);
  }
  /// Takes over what detach() left, or a token from elsewhere: renews it. Throws lease_lost when it is no longer held,
  /// error (LG006) when it is that of a permit.
  [[nodiscard]] Lease adopt(const Name &name, Token token, std::optional<Ttl> ttl = {},
                            const LeaseOptions &options = {});

  /// The same for permits of a semaphore. They wait by looking again.
  [[nodiscard]] std::optional<Permit> try_acquire(const Semaphore &semaphore, std::optional<Ttl> ttl = {},
                                                  const LeaseOptions &options = {});
  [[nodiscard]] Permit acquire(const Semaphore &semaphore, std::optional<Ttl> ttl = {},
                               const LeaseOptions &options = {});
  [[nodiscard]] std::optional<Permit> acquire(const Semaphore &semaphore, std::stop_token stop,
                                              std::optional<Ttl> ttl = {}, const LeaseOptions &options = {});
  [[nodiscard]] std::optional<Permit> acquire_for(const Semaphore &semaphore, Duration timeout,
                                                  std::optional<Ttl> ttl = {}, const LeaseOptions &options = {},
                                                  std::stop_token stop = {});
  [[nodiscard]] std::optional<Permit> acquire_until(const Semaphore &semaphore, boot_clock::time_point end,
                                                    std::optional<Ttl> ttl = {}, const LeaseOptions &options = {},
                                                    std::stop_token stop = {});
  template <typename Clock, typename Length>
  [[nodiscard]] std::optional<Permit>
  acquire_until(const Semaphore &semaphore, std::chrono::time_point<Clock, Length> end, std::optional<Ttl> ttl = {},
                const LeaseOptions &options = {}, std::stop_token stop = {}) {
    if constexpr (std::is_same_v<Clock, boot_clock>)
      return acquire_until(semaphore, boot_clock::time_point{Duration{end.time_since_epoch()}}, ttl, options, stop);
    else
      return acquire_for(semaphore, detail::left_until(end), ttl, options, stop);
  }
  /// As adopt() of a lease; of the semaphore only the name is looked at. Throws error (LG006) for a lease's token.
  [[nodiscard]] Permit adopt(const Semaphore &semaphore, Token token, std::optional<Ttl> ttl = {},
                             const LeaseOptions &options = {});

  /// A lock of a session of its own, kept without a time limit. Throws unsupported_rung behind a pooler, unavailable
  /// when there is no answer within ClientOptions::call_timeout; only the wait for the lock itself may take longer.
  [[nodiscard]] std::optional<AdvisoryLock> try_advisory_lock(const Name &name);
  /// Waits without end, even where the server stands still meanwhile.
  [[nodiscard]] AdvisoryLock advisory_lock(const Name &name);
  /// Empty when stop was requested. The server then ends its part of the wait within about a second.
  [[nodiscard]] std::optional<AdvisoryLock> advisory_lock(const Name &name, std::stop_token stop);
  /// Empty when the time is over or stop was requested. A timeout that is zero or negative is one try.
  [[nodiscard]] std::optional<AdvisoryLock> advisory_lock_for(const Name &name, Duration timeout,
                                                              std::stop_token stop = {});

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
  /// commits. When work throws it is rolled back, and that is what arrives. A statement that has failed fails all,
  /// though work drops what it threw, unless work then goes back to a savepoint: error with SQLSTATE 25P02. Throws
  /// unknown_outcome when the commit's answer was lost, did not come within ClientOptions::call_timeout, or came with a
  /// warning. The wait for the lock and the statements of the work take as long as they take; all else is cut after
  /// call_timeout.
  void with_lock(const Name &name, const std::function<void(Transaction &)> &work);
  /// False when stop was requested before the lock was had: the work was not called. While it runs, stop is its affair.
  bool with_lock(const Name &name, std::stop_token stop, const std::function<void(Transaction &)> &work);

  /// Asks the holder to give the lease up. False: nobody holds it. Throws as execute().
  bool request_yield(const Name &name, const std::string &reason);

  /// One statement of its own on one of the client's connections; not tried again. It is cut after
  /// ClientOptions::call_timeout, though the server may go on with it. Throws unavailable when it was not sent,
  /// unknown_outcome when its answer was lost or did not come in time, and error for what the server refuses.
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
