// The defaults, and how to change them.
//
//   ttl              30 s
//   renewed at       a third of the ttl
//   margin           the larger of 1 s and a tenth of the ttl, but at most a quarter of the ttl
//   warning          when twice the margin is left of the server's time
//   retry            100 ms, doubled to 1 s, each between 75 % and 125 % of that
//   a call           at most 5 s, then unknown_outcome or unavailable
#pragma once

#include <gatepost/clock.hpp>
#include <gatepost/duration.hpp>
#include <gatepost/loss.hpp>
#include <gatepost/ttl.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gatepost {
inline namespace v0 {

enum class LogLevel { debug, info, warning, error };

/// Hooks run on whichever thread has something to say, one or several at once; one that takes its time holds up what
/// that thread does, renewals among it, but no stop_token. What they throw is dropped.
/// Metrics have OpenTelemetry's style of names; `lease` is the name the number belongs to, or empty:
///   gatepost.client.acquired      counter    gatepost.client.busy           counter
///   gatepost.client.released      counter    gatepost.client.lost           counter
///   gatepost.client.renewals      counter    gatepost.client.renew.failures counter
///   gatepost.client.renew.seconds histogram  gatepost.client.reconnects     counter
///   gatepost.client.notifications.arrive     gauge, 1 or 0
/// A reconnect is a connection in place of one that broke, for calls, renewals or notifications.
using LogHook = std::function<void(LogLevel level, std::string_view message)>;
using MetricHook = std::function<void(std::string_view metric, double value, std::string_view lease)>;

struct ClientOptions {
  /// Put before every name.
  std::string prefix{};
  /// A label for people, shown in the view leases. Empty: the server makes one of application_name and address.
  std::string owner{};
  Ttl ttl = std::chrono::seconds{30};
  /// Of every guard, unless 0: instead of the rule above.
  Duration margin{};
  /// How long a call may take, retries included, before it gives up.
  Duration call_timeout = std::chrono::seconds{5};
  /// Idle connections that are kept for calls, beside the one for renewals and the one for notifications.
  unsigned idle_connections = 4;
  /// So many calls are made at once, each on a connection of its own; others wait for their turn, which is a part of
  /// their call_timeout. with_lock(), and the sessions of advisory locks, are not counted.
  unsigned calls_at_once = 16;
  LogHook log{};
  MetricHook metric{};
  /// Empty: the machine's.
  std::shared_ptr<TimeSource> clock{};
};

/// Callbacks run one at a time on a thread of the client that is for them, so a slow one holds up other callbacks, but
/// no renewal, no stop_token and no call's timeout; of guards that are lost at once, all stops have been requested
/// before the first callback runs. Where the thread is not to be had, they run on the one that watches deadlines. They
/// must not destroy the guard's client. What they throw is logged and dropped. A guard's destructor waits for a
/// callback of it that is running; a callback may end its own guard and others. After the guard's end none of it
/// begins.
struct LeaseOptions {
  /// Instead of ClientOptions::owner.
  std::string owner{};
  /// JSON, up to 8 kB; empty: none.
  std::string metadata{};
  /// Once, when the guard has lost its lease for whatever reason; never after release().
  std::function<void(Loss reason)> on_lost{};
  /// When renewals are late: so much is left of the guard's own deadline. Again after each recovery. Not called when
  /// they have been made up for before its turn comes.
  std::function<void(std::chrono::nanoseconds left)> on_warning{};
  /// Somebody asks for the lease (lease_request_yield).
  std::function<void(const std::string &reason)> on_yield{};
  /// The longest that the guard goes on renewing, for work that may hang. Unless 0, the lease is lost then.
  Duration max_hold{};
};

} // namespace v0
} // namespace gatepost
