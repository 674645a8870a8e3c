#include "core.hpp"

#include "mutant.hpp"
#include "statements.hpp"
#include "text.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace gatepost::inline v0::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A place in the queue is kept for so long without being prolonged.
constexpr seconds stay{10};

class MachineClock final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override { return boot_clock::now(); }
  nanoseconds nap() const noexcept override { return seconds{1}; }
};

ClientOptions completed(ClientOptions options) {
  if (!options.clock)
    options.clock = std::make_shared<MachineClock>();
  return options;
}

Value optional_text(const std::string &text) { return text.empty() ? Value{} : Value{text}; }

/// Nothing is known of the answer, and the next may tell it.
bool may_be_asked_again(std::string_view sqlstate) {
  return sqlstate == "LG010" || sqlstate == "55P03" || sqlstate.starts_with("40") || sqlstate.starts_with("53") ||
         sqlstate == "57014";
}

/// Whether the same call may be sent again, or, when the time for that is over, has nothing to say beside an answer
/// that was lost before.
bool passes(const error &error, bool unknown, Moment give_up) {
  const bool again = dynamic_cast<const unavailable *>(&error) != nullptr || may_be_asked_again(error.sqlstate());
  return again && ((unknown && !mutant("lost_release_is_failure")) || machine_now() < give_up);
}

nanoseconds margin_for(nanoseconds ttl, nanoseconds asked) {
  if (mutant("margin_left_out"))
    return nanoseconds{0};
  if (asked.count() > 0)
    return std::min(asked, ttl);
  return std::min({std::max(nanoseconds{seconds{1}}, ttl / 10), ttl / 4});
}

} // namespace

Moment Core::patience_end() const noexcept { return later(machine_now(), options_.call_timeout); }

Core::Core(ConnectionFactory factory, ClientOptions options)
    : options_{completed(std::move(options))}, hooks_{options_.log, options_.metric}, pool_{factory, options_, hooks_},
      keeper_{std::make_shared<Keeper>(factory, hooks_, options_.clock)}, listener_{factory,
                                                                                    [this](const std::string &channel) {
                                                                                      run(sql::notify,
                                                                                          std::vector<Value>{channel});
                                                                                    },
                                                                                    hooks_, options_.clock} {
  keeper_->start();
}

Core::~Core() {
  // Before the keeper, whose end cuts a call of it that is under way.
  listener_.stop();
  keeper_->stop();
}

std::shared_ptr<Core> Core::make(ConnectionFactory factory, ClientOptions options) {
  return {new Core{std::move(factory), std::move(options)}, end};
}

void Core::end(Core *core) noexcept {
  if (!core->forked() || mutant("child_ends_core")) {
    delete core;
    return;
  }
  // Within reach, so that it is no leak.
  static std::atomic<Core *> left{nullptr};
  core->left_before_ = left.exchange(core);
}

void Core::check_process() const {
  if (forked())
    throw unavailable{"a client cannot be used in a child process, make a new one there", "08003"};
}

Rows Core::run(const std::string &sql, std::span<const Value> parameters, Moment give_up) {
  check_process();
  const Pool::Turn turn{pool_, give_up};
  std::unique_ptr<Connection> connection = pool_.take();
  if (machine_now() >= give_up && !mutant("time_begins_when_connected")) {
    pool_.give_back(std::move(connection));
    throw unavailable{"the connection came too late for the call", "08001"};
  }
  bool cut = false;
  try {
    const Rows rows = [&] {
      const Keeper::Limit limited{*keeper_, *connection,
                                  mutant("calls_unlimited") ? later(give_up, std::chrono::hours{1}) : give_up, &cut};
      return connection->execute(sql, parameters);
    }();
    pool_.give_back(std::move(connection), cut);
    return rows;
  } catch (const unavailable &error) {
    pool_.drop_idle();
    // A server that has become a standby refuses before it does anything.
    if (std::string_view{error.sqlstate()} == "25006" || mutant("lost_answer_is_failure"))
      throw;
    throw unknown_outcome{std::string{"the answer was lost: "} + error.what(), "08007"};
  } catch (const error &) {
    pool_.give_back(std::move(connection), cut);
    throw;
  }
}

Rows Core::read(const std::string &sql, std::span<const Value> parameters) {
  try {
    return run(sql, parameters);
  } catch (const unknown_outcome &error) {
    throw unavailable{error.what(), "08006"};
  }
}

Rows Core::run_settled(const std::string &sql, std::span<const Value> parameters) {
  const Moment give_up = patience_end();
  for (unsigned tries = 0;; ++tries) {
    try {
      return run(sql, parameters, give_up);
    } catch (const error &error) {
      if (!may_be_asked_again(error.sqlstate()) || machine_now() >= give_up || mutant("flight_is_failure"))
        throw;
    }
    std::this_thread::sleep_for(std::min(backoff(tries), options_.clock->nap()));
  }
}

Request Core::request(const Name &name, std::optional<Ttl> ttl, const LeaseOptions &options) const {
  // What the server counts in microseconds is counted so here too.
  const auto length = std::chrono::duration_cast<std::chrono::microseconds>(ttl.value_or(options_.ttl).length());
  return Request{full(name), length, options};
}

std::vector<Value> Core::parameters(const Request &request) const {
  std::vector<Value> values{request.name.text(), interval_text(request.ttl),
                            optional_text(request.options.owner.empty() ? options_.owner : request.options.owner),
                            optional_text(request.options.metadata), request.id};
  if (request.permits > 0) {
    values.emplace_back(std::to_string(request.permits));
    values.emplace_back(std::to_string(request.weight));
  }
  return values;
}

/// The server's answer to a request: a token, or none when busy. A lost answer is asked for again with the same id.
std::optional<Token> Core::ask(Request &request) {
  const std::vector<Value> values = parameters(request);
  const char *statement = request.permits > 0             ? sql::semaphore_acquire
                          : mutant("waits_in_the_server") ? sql::lease_acquire_inside
                                                          : sql::lease_acquire;
  const Moment give_up = patience_end();
  bool unknown = false;
  std::string last;
  for (unsigned tries = 0;; ++tries) {
    check_process();
    std::optional<Pool::Turn> turn;
    std::unique_ptr<Connection> connection;
    try {
      turn.emplace(pool_, give_up);
      connection = pool_.take();
    } catch (const unavailable &error) {
      last = error.what();
    }
    if (connection) {
      bool cut = false;
      if (!unknown)
        request.sent = now();
      try {
        const Rows rows = [&] {
          const Keeper::Limit limit{*keeper_, *connection, std::max(give_up, machine_now() + 200'000'000), &cut};
          return connection->execute(statement, values);
        }();
        pool_.give_back(std::move(connection), cut);
        if (!rows.warned || mutant("warning_ignored_at_commit")) {
          request.needs_renewal = request.needs_renewal || unknown;
          request.unsettled = false;
          const Value token = rows.first();
          return token ? std::optional{Token{std::stoll(*token)}} : std::nullopt;
        }
        unknown = true;
        last = "the server sent a warning with the grant";
      } catch (const unavailable &error) {
        connection.reset();
        pool_.drop_idle();
        unknown = unknown || std::string_view{error.sqlstate()} != "25006";
        last = error.what();
        if (mutant("lost_reply_is_failure"))
          throw;
      } catch (const error &error) {
        pool_.give_back(std::move(connection), cut);
        if (!may_be_asked_again(error.sqlstate()))
          throw;
        unknown = unknown || std::string_view{error.sqlstate()} == "LG010";
        last = error.what();
      }
    }
    if (machine_now() >= give_up || (!unknown && request.stop.stop_requested())) {
      request.needs_renewal = request.needs_renewal || unknown;
      const std::string message = "acquire of \"" + request.name.text() + "\": " + last;
      request.unsettled = request.unsettled || unknown;
      if (unknown)
        throw unknown_outcome{message, "08007"};
      throw unavailable{message, "08006"};
    }
    turn.reset();
    hooks_.log(LogLevel::debug, "acquire of \"" + request.name.text() + "\" is tried again: " + last);
    if (tries > 0 || !unknown)
      std::this_thread::sleep_for(std::min(backoff(tries), options_.clock->nap()));
  }
}

/// Counts the time anew from now on. False: the grant is not there any more.
bool Core::renew(Request &request, Token token) {
  const std::vector<Value> values{request.name.text(), to_string(token), interval_text(request.ttl)};
  const Moment give_up = patience_end();
  bool unknown = false;
  std::string last;
  for (unsigned tries = 0;; ++tries) {
    const Moment sent = now();
    try {
      const Rows rows = run(sql::lease_renew, values, give_up);
      if (!rows.warned || mutant("warning_ignored_at_renewal")) {
        request.sent = sent;
        return rows.first() == "t";
      }
      unknown = true;
      last = "the server sent a warning";
    } catch (const unknown_outcome &error) {
      unknown = true;
      last = error.what();
    } catch (const error &error) {
      if (!passes(error, unknown, give_up))
        throw;
      last = error.what();
    }
    if (machine_now() >= give_up)
      throw unknown_outcome{"renewal of \"" + request.name.text() + "\": " + last, "08007"};
    std::this_thread::sleep_for(std::min(backoff(tries), options_.clock->nap()));
  }
}

/// The guard's part for a grant; null when it came too late to be of use, and was given back.
std::shared_ptr<Hold> Core::hold(Request &request, Token token) {
  try {
    if (request.needs_renewal && !mutant("handed_time_begins_late") && !renew(request, token))
      return nullptr;
    if (mutant("deadline_after_reply"))
      request.sent = now();
    auto hold = std::make_shared<Hold>(request.name, token, request.ttl, margin_for(request.ttl, options_.margin),
                                       request.sent, request.options);
    if (hold->look(now()) > 0 || mutant("late_grant_kept")) {
      keeper_->keep(hold, request.sent);
      hooks_.metric("gatepost.client.acquired", 1, request.name.text());
      return hold;
    }
  } catch (...) {
    give_back(request, token);
    throw;
  }
  give_back(request, token);
  return nullptr;
}

void Core::give_back(const Request &request, Token token) noexcept {
  try {
    run(sql::lease_release, std::vector<Value>{request.name.text(), to_string(token)});
  } catch (const std::exception &error) {
    hooks_.log(LogLevel::warning, "\"" + request.name.text() + "\" could not be given back: " + error.what());
  }
}

std::shared_ptr<Hold> Core::try_grant(Request &request) {
  const std::optional<Token> token = ask(request);
  if (!token) {
    hooks_.metric("gatepost.client.busy", 1, request.name.text());
    return nullptr;
  }
  if (std::shared_ptr<Hold> granted = hold(request, *token))
    return granted;
  throw unavailable{"the grant of \"" + request.name.text() + "\" came too late to be of use", "57014"};
}

/// A place in the server's queue, and the channel where its turn is announced. Empty: the server has no such queue.
std::optional<std::string> Core::queue(const Request &request, nanoseconds length) {
  std::vector<Value> values = parameters(request);
  values.emplace_back(interval_text(length));
  try {
    return run(sql::lease_queue, values).first();
  } catch (const error &error) {
    const std::string_view sqlstate{error.sqlstate()};
    if (sqlstate == "42883" || sqlstate == "LG006")
      return std::nullopt;
    throw;
  }
}

void Core::unqueue(const Request &request) noexcept {
  try {
    run(sql::lease_unqueue, std::vector<Value>{request.name.text(), request.id});
  } catch (const std::exception &error) {
    hooks_.log(LogLevel::debug, std::string{"leaving the queue: "} + error.what());
  }
}

std::shared_ptr<Hold> Core::wait_for_grant(Request &request, Moment end, const std::stop_token &stop) {
  // In the loop it would be one of the failures that pass.
  if (!mutant("child_waits"))
    check_process();
  std::optional<Listener::Subscription> place;
  request.stop = stop;
  bool no_queue = request.permits > 0;
  Moment prolong_at = 0;
  unsigned failures = 0;
  std::string last_unknown;
  const auto wait = [&](nanoseconds pause, std::optional<unsigned long> heard) {
    const nanoseconds left{std::max<Moment>(end - now(), 0)};
    pause = std::min({pause, left, mutant("notifications_trusted") ? pause : options_.clock->nap()});
    if (place && heard)
      return place->wait(*heard, pause, stop);
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    never.wait_for(lock, stop, pause, [] { return false; });
  };
  const auto leave = [&] {
    if (place && !mutant("places_kept"))
      unqueue(request);
    if (request.unsettled && !stop.stop_requested() && !mutant("unsettled_is_busy"))
      throw unknown_outcome{last_unknown, "08007"};
    return nullptr;
  };

  for (bool first = true;; first = false) {
    nanoseconds pause{0};
    std::optional<unsigned long> heard;
    try {
      // The first try asks nothing of the queue.
      if (!first && !no_queue && now() >= prolong_at) {
        const std::optional<std::string> channel = queue(request, stay);
        no_queue = !channel;
        prolong_at = now() + nanoseconds{stay}.count() / 3;
        if (channel && !place)
          place.emplace(listener_, *channel);
        // A holder may hand over to a place, and then the time has begun before it is asked for.
        request.needs_renewal = request.needs_renewal || channel.has_value();
      }
      if (place)
        heard = place->heard();
      if (const std::optional<Token> token = ask(request)) {
        if (std::shared_ptr<Hold> granted = hold(request, *token))
          return granted;
        hooks_.log(LogLevel::warning, "the grant of \"" + request.name.text() + "\" came too late to be of use");
        request.id = request_id();
        request.needs_renewal = false;
        place.reset();
        prolong_at = 0;
      } else if (first && now() < end && !stop.stop_requested()) {
        hooks_.metric("gatepost.client.busy", 1, request.name.text());
        continue;
      }
      failures = 0;
      const bool arriving = place && listener_.arriving().value_or(false);
      pause = jittered(arriving ? milliseconds{1000} : milliseconds{250});
      if (place && mutant("notifications_trusted"))
        pause = seconds{30};
    } catch (const unavailable &error) {
      hooks_.log(LogLevel::warning, "waiting for \"" + request.name.text() + "\": " + error.what());
      pause = backoff(failures++);
    } catch (const unknown_outcome &error) {
      last_unknown = error.what();
      hooks_.log(LogLevel::warning, "waiting for \"" + request.name.text() + "\": " + error.what());
      pause = backoff(failures++);
    } catch (const error &error) {
      if ((!may_be_asked_again(error.sqlstate()) && !mutant("refusal_waited_out")) || mutant("passing_error_ends_wait"))
        throw;
      pause = backoff(failures++);
    }
    if (now() >= end || stop.stop_requested())
      return leave();
    wait(pause, heard);
    if (stop.stop_requested())
      return leave();
  }
}

std::shared_ptr<Hold> Core::adopt(const Name &name, Token token, bool permit, std::optional<Ttl> ttl,
                                  const LeaseOptions &options) {
  Request adopted = request(name, ttl, options);
  const std::vector<Value> values{adopted.name.text(), to_string(token)};
  const Value kind = read(sql::kind_of, values).first();
  if (kind && (kind == "permit") != permit && !mutant("adopted_as_anything"))
    throw error{"the token of \"" + adopted.name.text() + "\" is that of a " + *kind + ", and is adopted as such",
                "LG006"};
  if (renew(adopted, token)) {
    adopted.needs_renewal = false;
    if (std::shared_ptr<Hold> granted = hold(adopted, token))
      return granted;
    throw lease_lost{adopted.name.text(), Loss::expired};
  }
  const Value status = read(sql::lease_status, values).first();
  const auto is = [&](const char *text) { return status == text; };
  throw lease_lost{adopted.name.text(), is("lapsed")       ? Loss::lapsed
                                        : is("released")   ? Loss::released
                                        : is("superseded") ? Loss::superseded
                                        : is("broken")     ? Loss::broken
                                                           : Loss::unknown};
}

bool Core::release(const std::shared_ptr<Hold> &hold) {
  // The fork may have come while a thread of the parent's had the keeper's mutex: in a child nobody gives it back.
  if (forked() && !mutant("child_releases"))
    return false;
  const std::int64_t before = hold->end(now(), Hold::released);
  keeper_->let_go(hold);
  if (before == Hold::released || before == Hold::lost(Loss::forked))
    return false;
  // A guard that gave up by its own clock may still be the holder, and whoever waits need not wait longer.
  const bool by_own_clock =
      Hold::is_lost(before) && (Hold::reason(before) == Loss::expired || Hold::reason(before) == Loss::hold_limit);
  if (Hold::is_lost(before) && !by_own_clock)
    return false;
  const bool released = send_release(*hold);
  if (released)
    hooks_.metric("gatepost.client.released", 1, hold->name.text());
  else
    hooks_.log(LogLevel::warning, "lease \"" + hold->name.text() + "\" was no longer held when it was released");
  return released;
}

bool Core::send_release(const Hold &hold) {
  const std::vector<Value> values{hold.name.text(), to_string(hold.token)};
  const Moment give_up = patience_end();
  bool unknown = false;
  std::string last;
  for (unsigned tries = 0;; ++tries) {
    try {
      if (run(sql::lease_release, values, give_up).first() == "t")
        return true;
      return unknown && read(sql::lease_status, values).first() == "released";
    } catch (const unknown_outcome &error) {
      unknown = true;
      last = error.what();
    } catch (const error &error) {
      if (!passes(error, unknown, give_up))
        throw;
      last = error.what();
    }
    if (machine_now() >= give_up)
      throw unknown_outcome{"release of \"" + hold.name.text() + "\": " + last, "08007"};
    if (tries > 0)
      std::this_thread::sleep_for(std::min(backoff(tries - 1), options_.clock->nap()));
  }
}

Token Core::detach(const std::shared_ptr<Hold> &hold) {
  if (forked())
    throw lease_lost{hold->name.text(), Loss::forked};
  const std::int64_t before = hold->end(now(), Hold::released);
  keeper_->let_go(hold);
  if (Hold::is_lost(before))
    throw lease_lost{hold->name.text(), Hold::reason(before)};
  if (before == Hold::released)
    throw lease_lost{hold->name.text(), Loss::released};
  return hold->token;
}

Keeper::Limit Core::limit(Connection &connection, nanoseconds beyond, bool *cut) {
  if (mutant("calls_unlimited"))
    beyond += std::chrono::hours{1};
  return {*keeper_, connection, patience_end() + beyond.count(), cut};
}

} // namespace gatepost::inline v0::detail
