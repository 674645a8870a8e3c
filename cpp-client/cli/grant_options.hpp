// What run, hold and acquire have in common: which grant they ask for, and how.
#pragma once

#include "command.hpp"
#include "waiting.hpp"

#include <gatepost/client.hpp>

#include <optional>
#include <string>
#include <variant>

namespace gatepost::cli {

struct GrantOptions {
  std::string name{}, ttl = "30s", wait{}, owner{}, metadata{};
  int permits = 0, weight = 1;
  bool forever = false; ///< wait without end

  bool waits() const noexcept { return forever || !wait.empty(); }
};

void add_grant_options(CLI::App &command, GrantOptions &options);

/// "ls@host/4711": more to go by than the server's label.
std::string default_owner(const std::string &program);

/// The first connection of a program that holds something: tried at once, so that what is wrong with it is told at
/// once, and before signals are taken, so that they end it.
std::unique_ptr<Connection> first_connection(const Invocation &invocation);
Client make_client(const Invocation &invocation, std::unique_ptr<Connection> first, ClientOptions options);

/// Lease or permit.
using Held = std::variant<Lease, Permit>;
inline Grant &grant_of(Held &held) {
  return std::visit([](Grant &grant) -> Grant & { return grant; }, held);
}

/// Empty when busy, or when the wait was asked to end.
std::optional<Held> acquire(Client &client, const GrantOptions &options, const LeaseOptions &hooks,
                            const Waiting &waiting);
/// Ends the wait. Throws Failure with 128 and a signal that came meanwhile; what is held has then been given back.
void end_wait(Waiting &waiting, std::optional<Held> &held);
Failure interrupted(int signal);
/// Says the same when the wait has to be cut short.
Waiting::Rules rules_of_acquire(const Invocation &invocation);

} // namespace gatepost::cli
