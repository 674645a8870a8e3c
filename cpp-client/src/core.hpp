// What a client and its guards share.
#pragma once

#include <gatepost/client.hpp>

#include "hold.hpp"
#include "hooks.hpp"
#include "keeper.hpp"
#include "listener.hpp"
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
};

class Core {
public:
  Core(ConnectionFactory factory, ClientOptions options);
  ~Core();
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;

  const ClientOptions &options() const noexcept { return options_; }
  const Hooks &hooks() const noexcept { return hooks_; }
  bool forked() const noexcept { return born_ != fork_count(); }
  Moment now() const noexcept { return moment(options_.clock->now()); }
  /// When a call that begins now gives up: by the machine's clock, whatever clock leases are counted on.
  Moment patience_end() const noexcept;
  Name full(const Name &name) const { return options_.prefix.empty() ? name : Name{options_.prefix + name.text()}; }

  Request request(const Name &name, std::optional<Ttl> ttl, const LeaseOptions &options) const;
  /// One try; null when busy.
  std::shared_ptr<Hold> try_grant(Request &request);
  /// Null when the time is over or stop was requested.
  std::shared_ptr<Hold> wait_for_grant(Request &request, Moment end, const std::stop_token &stop);
  std::shared_ptr<Hold> adopt(const Name &name, Token token, std::optional<Ttl> ttl, const LeaseOptions &options);

  bool release(const std::shared_ptr<Hold> &hold);
  Token detach(const std::shared_ptr<Hold> &hold);

  /// One statement on a connection of the pool, which is given up when it breaks or takes longer than call_timeout.
  Rows run(const std::string &sql, std::span<const Value> parameters);
  void with_lock(const Name &name, const std::function<void(Transaction &)> &work);
  /// A connection of its own, not behind a pooler; otherwise throws unsupported_rung.
  std::unique_ptr<Connection> session();

  std::optional<bool> notifications_arrive() const noexcept { return listener_.arriving(); }
  std::shared_ptr<Keeper> keeper() const noexcept { return keeper_; }

  /// In a child process: what the threads and the parent's sessions need is let be, for good.
  static void leave(std::shared_ptr<Core> core) noexcept;

private:
  void check_process() const;
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
  static const std::shared_ptr<Core> &core(const Client &client) noexcept { return client.core_; }
  static AdvisoryLock lock(std::shared_ptr<Core> core, const Name &name, std::unique_ptr<Connection> connection);
};

} // namespace gatepost::inline v0::detail
