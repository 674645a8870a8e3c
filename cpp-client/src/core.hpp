// What a client and its guards share.
#pragma once

#include <gatepost/client.hpp>

#include "hold.hpp"
#include "hooks.hpp"
#include "keeper.hpp"
#include "listener.hpp"
#include "mutant.hpp"
#include "pool.hpp"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace gatepost::inline v0::detail {

/// A request for a grant, told apart from others by its id, so that a lost answer can be asked for again.
struct Request {
  Name name;
  std::chrono::nanoseconds ttl;
  const LeaseOptions &options;
  int permits = 0; ///< of the semaphore; 0: a lease
  int weight = 1;
  std::string id = request_id();
  /// When it was sent that may have been granted.
  Moment sent = 0;
  /// An earlier sending may have been granted, or a holder may have handed over: when is not known.
  bool needs_renewal = false;
  /// Nothing has been heard of the last sending.
  bool unsettled = false;
  /// When requested, no further try is made unless the outcome of one is unknown.
  std::stop_token stop{};
};

class Core {
public:
  /// Ends with the last who has a share in it. In a child process it is let be then, for good: what it has are the
  /// parent's sessions, and threads that are not there.
  static std::shared_ptr<Core> make(ConnectionFactory factory, ClientOptions options);
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;

  const ClientOptions &options() const noexcept { return options_; }
  const Hooks &hooks() const noexcept { return hooks_; }
  bool forked() const noexcept { return born_ != fork_count(); }
  /// Throws unavailable in a child of a fork.
  void check_process() const;
  Moment now() const noexcept { return moment(options_.clock->now()); }
  /// When a call that begins now gives up: by the machine's clock, whatever clock leases are counted on.
  Moment patience_end() const noexcept;
  Name full(const Name &name) const { return options_.prefix.empty() ? name : Name{options_.prefix + name.text()}; }

  Request request(const Name &name, std::optional<Ttl> ttl, const LeaseOptions &options) const;
  /// One try; null when busy.
  std::shared_ptr<Hold> try_grant(Request &request);
  /// Null when the time is over or stop was requested.
  std::shared_ptr<Hold> wait_for_grant(Request &request, Moment end, const std::stop_token &stop);
  std::shared_ptr<Hold> adopt(const Name &name, Token token, bool permit, std::optional<Ttl> ttl,
                              const LeaseOptions &options);

  bool release(const std::shared_ptr<Hold> &hold);
  Token detach(const std::shared_ptr<Hold> &hold);

  /// One statement on a connection of the pool, which is given up when it breaks or takes longer than call_timeout:
  /// throws unknown_outcome then, and unavailable when the statement was not sent.
  Rows run(const std::string &sql, std::span<const Value> parameters) { return run(sql, parameters, patience_end()); }
  /// The same for one that changes nothing: throws unavailable for either.
  Rows read(const std::string &sql, std::span<const Value> parameters);
  /// The same, again while another transaction is at the row.
  Rows run_settled(const std::string &sql, std::span<const Value> parameters);
  /// False when stop was requested before the lock was had.
  bool with_lock(const Name &name, const std::stop_token &stop, const std::function<void(Transaction &)> &work);
  /// A connection of its own, not behind a pooler; otherwise throws unsupported_rung.
  std::unique_ptr<Connection> session();
  /// Such a connection, which has the lock of a name; null when the time is over or stop was requested.
  std::unique_ptr<Connection> lock_session(const Name &name, Moment end, const std::stop_token &stop);
  /// While it lives, a call on the connection takes no longer than call_timeout, and what the server may wait beyond.
  Keeper::Limit limit(Connection &connection, std::chrono::nanoseconds beyond = std::chrono::nanoseconds{0},
                      bool *cut = nullptr);

  std::optional<bool> notifications_arrive() const noexcept { return listener_.arriving(); }
  std::shared_ptr<Keeper> keeper() const noexcept { return keeper_; }

private:
  Core(ConnectionFactory factory, ClientOptions options);
  ~Core();
  static void end(Core *core) noexcept;
  Rows run(const std::string &sql, std::span<const Value> parameters, Moment give_up);
  bool stoppable_wait(Connection &connection, const std::stop_token &stop, const std::function<void()> &wait);
  std::vector<Value> parameters(const Request &request) const;
  std::optional<Token> ask(Request &request);
  std::shared_ptr<Hold> hold(Request &request, Token token);
  bool renew(Request &request, Token token);
  std::optional<std::string> queue(const Request &request, std::chrono::nanoseconds stay);
  void unqueue(const Request &request) noexcept;
  bool send_release(const Hold &hold);
  void give_back(const Request &request, Token token) noexcept;

  ClientOptions options_;
  const Hooks hooks_;
  const unsigned born_ = fork_count();
  Pool pool_;
  std::shared_ptr<Keeper> keeper_;
  Listener listener_;
  Core *left_before_ = nullptr; ///< of those that this process has let be
};

/// The way into what guards keep private.
struct Access {
  template <typename Guard> static Guard guard(const std::shared_ptr<Core> &core, std::shared_ptr<Hold> hold) {
    return Guard{core, std::move(hold)};
  }
  template <typename Guard>
  static std::optional<Guard> maybe(const std::shared_ptr<Core> &core, std::shared_ptr<Hold> hold) {
    if (!hold)
      return std::nullopt;
    return guard<Guard>(core, std::move(hold));
  }
  /// A share of it, for what may outlive the client.
  static std::shared_ptr<Core> core(const Client &client) noexcept {
    if (mutant("core_unshared"))
      return {std::shared_ptr<Core>{}, client.core_.get()};
    return client.core_;
  }
  /// Of a name in full. Empty when the time is over or stop was requested.
  static std::optional<AdvisoryLock> lock(const std::shared_ptr<Core> &core, const Name &name, Moment end,
                                          const std::stop_token &stop);
};

} // namespace gatepost::inline v0::detail
