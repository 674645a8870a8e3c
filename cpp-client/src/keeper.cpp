#include "keeper.hpp"

#include <gatepost/error.hpp>

#include "statements.hpp"
#include "text.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace gatepost::inline v0::detail {

namespace {

/// What one statement renews at most, so that no lease waits behind too many others.
constexpr std::size_t largest_batch = 5000;

constexpr Moment milliseconds(std::int64_t count) { return count * 1'000'000; }

Loss reason_of(const Value &detail) {
  if (detail == "lapsed")
    return Loss::lapsed;
  if (detail == "released")
    return Loss::released;
  if (detail == "superseded")
    return Loss::superseded;
  if (detail == "broken")
    return Loss::broken;
  return Loss::unknown;
}

/// The same statement may go well soon.
bool is_transient(std::string_view sqlstate) {
  return sqlstate == "LG010" || sqlstate == "LG007" || sqlstate == "55P03" || sqlstate.starts_with("40") ||
         sqlstate.starts_with("53") || sqlstate.starts_with("57");
}

} // namespace

Keeper::Keeper(ConnectionFactory factory, Hooks hooks, std::shared_ptr<TimeSource> clock)
    : factory_{std::move(factory)}, hooks_{std::move(hooks)}, clock_{std::move(clock)} {}

void Keeper::start() {
  watching_ = start_thread("gatepost-watch", [self = shared_from_this()] { self->watch(); });
  try {
    renewing_ = start_thread("gatepost-renew", [self = shared_from_this()] { self->renew(); });
  } catch (...) {
    stop();
    throw;
  }
}

void Keeper::stop() noexcept {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    if (connection_)
      connection_->abort();
  }
  renew_wake_.notify_all();
  watch_wake_.notify_all();
  for (std::thread *thread : {&renewing_, &watching_}) {
    if (!thread->joinable())
      continue;
    if (thread->get_id() == std::this_thread::get_id())
      thread->detach();
    else
      thread->join();
  }
}

void Keeper::forget() noexcept {
  renewing_.detach();
  watching_.detach();
}

void Keeper::keep(const std::shared_ptr<Hold> &hold, Moment sent) {
  const std::lock_guard lock{mutex_};
  hold->kept = true;
  schedule_renewal(hold, hold->renewal_after(sent));
  schedule_check(hold, hold->deadline_for(sent) - hold->margin);
}

void Keeper::let_go(const std::shared_ptr<Hold> &hold) noexcept {
  std::unique_lock lock{mutex_};
  hold->kept = false;
  if (hold->renew_at != 0)
    renewals_.erase({hold->renew_at, hold});
  if (hold->check_at != 0)
    checks_.erase({hold->check_at, hold});
  hold->renew_at = hold->check_at = 0;
  const bool in_callback = std::this_thread::get_id() == watching_.get_id();
  settled_.wait(lock, [&] { return stopping_ || (!hold->in_flight && (in_callback || !hold->firing)); });
}

Keeper::Limit::Limit(Keeper &keeper, Connection &connection, Moment end)
    : keeper_{keeper}, connection_{connection}, end_{end} {
  const std::lock_guard lock{keeper_.mutex_};
  keeper_.limits_.push_back(this);
  // The watching thread looks at least once a second.
  if (end - machine_now() < milliseconds(1100))
    keeper_.watch_wake_.notify_all();
}

Keeper::Limit::~Limit() {
  const std::lock_guard lock{keeper_.mutex_};
  std::erase(keeper_.limits_, this);
}

void Keeper::pause(std::unique_lock<std::mutex> &lock, std::condition_variable &wake, Moment until) {
  // The condition variable's clock stands still while the machine is suspended, so no nap is long.
  const std::chrono::nanoseconds left{std::max<Moment>(until - now(), 0)};
  wake.wait_for(lock, std::min(left, clock_->nap()));
}

void Keeper::schedule_renewal(const std::shared_ptr<Hold> &hold, Moment at) {
  if (hold->renew_at != 0)
    renewals_.erase({hold->renew_at, hold});
  hold->renew_at = at;
  renewals_.emplace(at, hold);
  if (renewals_.begin()->second == hold)
    renew_wake_.notify_all();
}

void Keeper::schedule_check(const std::shared_ptr<Hold> &hold, Moment at) {
  if (hold->check_at != 0)
    checks_.erase({hold->check_at, hold});
  hold->check_at = at;
  checks_.emplace(at, hold);
  if (checks_.begin()->second == hold)
    watch_wake_.notify_all();
}

// The renewing thread.

void Keeper::renew() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    if (renewals_.empty()) {
      renew_wake_.wait(lock);
      continue;
    }
    const Moment due = std::max(renewals_.begin()->first, connection_ ? 0 : connect_at_);
    if (due > now()) {
      pause(lock, renew_wake_, due);
      continue;
    }
    if (!connected(lock))
      continue;
    const Holds batch = collect(now());
    if (batch.empty())
      continue;
    std::vector<Answer> answers(batch.size());
    lock.unlock();
    const Moment started = now();
    ask(batch, answers);
    const Moment ended = now();
    hooks_.metric("gatepost.client.renewals", static_cast<double>(batch.size()));
    hooks_.metric("gatepost.client.renew.seconds", static_cast<double>(ended - started) / 1e9);
    lock.lock();
    for (std::size_t i = 0; i < batch.size(); ++i)
      settle(batch[i], answers[i], ended);
    settled_.notify_all();
  }
  std::unique_ptr<Connection> last = std::move(connection_);
  settled_.notify_all();
  lock.unlock();
}

bool Keeper::connected(std::unique_lock<std::mutex> &lock) {
  if (connection_)
    return true;
  lock.unlock();
  std::unique_ptr<Connection> fresh;
  std::string message;
  try {
    fresh = factory_();
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
    message = "the connection factory threw";
  }
  if (fresh)
    hooks_.metric("gatepost.client.reconnects", 1);
  else
    hooks_.log(LogLevel::warning, "no connection to renew on: " + message);
  lock.lock();
  if (fresh) {
    connect_failures_ = 0;
    connection_ = std::move(fresh);
    return true;
  }
  connect_at_ = now() + backoff(connect_failures_++).count();
  return false;
}

/// Those that are due, and those that soon will be, so that statements are few. A token that has been
/// adopted beside its guard comes once.
Keeper::Holds Keeper::collect(Moment now) {
  Holds batch;
  std::unordered_set<std::int64_t> tokens;
  for (auto place = renewals_.begin(); place != renewals_.end() && batch.size() < largest_batch;) {
    const std::shared_ptr<Hold> hold = place->second;
    if (place->first - hold->ttl / 30 > now)
      break;
    const bool ended = hold->look(now) <= 0;
    if (!ended && !tokens.insert(hold->token.value()).second) {
      ++place;
      continue;
    }
    place = renewals_.erase(place);
    hold->renew_at = 0;
    if (ended)
      continue;
    hold->in_flight = true;
    batch.push_back(hold);
  }
  return batch;
}

void Keeper::ask(std::span<const std::shared_ptr<Hold>> batch, std::span<Answer> answers) {
  if (!connection_)
    return;
  const Moment sent = now();
  ArrayText names, tokens;
  std::int64_t patience = milliseconds(5000);
  for (const auto &hold : batch) {
    names.add(hold->name.text());
    tokens.add(hold->token.value());
    patience = std::min(patience, std::max(hold->ttl / 6, milliseconds(250)));
  }
  try {
    const std::vector<Value> parameters{std::move(names).take(), std::move(tokens).take()};
    const Rows answer = [&] {
      const Limit limit{*this, *connection_, machine_now() + patience};
      return connection_->execute(sql::lease_renew_many, parameters);
    }();
    if (answer.warned) {
      hooks_.log(LogLevel::warning, "a renewal came with a warning, and does not count");
      return;
    }
    for (Answer &each : answers)
      each = {Answer::Kind::renewed, sent, {}, {}};
    if (answer.rows.empty())
      return;
    std::unordered_map<std::int64_t, std::size_t> places;
    for (std::size_t i = 0; i < batch.size(); ++i)
      places.emplace(batch[i]->token.value(), i);
    for (const auto &row : answer.rows) {
      const auto place = row[1] ? places.find(std::stoll(*row[1])) : places.end();
      if (place == places.end())
        continue;
      Answer &each = answers[place->second];
      if (row[2] == "lost")
        each = {Answer::Kind::lost, sent, reason_of(row[3]), {}};
      else if (row[2] == "yield")
        each = {Answer::Kind::yield, sent, {}, row[3].value_or("")};
      else
        each = {};
    }
  } catch (const unavailable &error) {
    hooks_.log(LogLevel::warning, std::string{"renewals failed, the connection is given up: "} + error.what());
    hooks_.metric("gatepost.client.renew.failures", static_cast<double>(batch.size()));
    std::unique_ptr<Connection> broken;
    const std::lock_guard lock{mutex_};
    broken = std::move(connection_);
  } catch (const error &error) {
    // One whose name or right is amiss must not take the others along.
    if (batch.size() > 1 && !is_transient(error.sqlstate())) {
      const std::size_t half = batch.size() / 2;
      ask(batch.first(half), answers.first(half));
      ask(batch.subspan(half), answers.subspan(half));
      return;
    }
    hooks_.log(LogLevel::warning, "renewal of \"" + batch[0]->name.text() + "\" failed: " + error.what());
    hooks_.metric("gatepost.client.renew.failures", static_cast<double>(batch.size()), batch[0]->name.text());
  } catch (const std::exception &error) {
    hooks_.log(LogLevel::error, std::string{"renewals failed: "} + error.what());
  } catch (...) {
    hooks_.log(LogLevel::error, "renewals failed: the connection threw");
  }
}

void Keeper::settle(const std::shared_ptr<Hold> &hold, Answer &answer, Moment now) {
  hold->in_flight = false;
  if (!hold->kept)
    return;
  switch (answer.kind) {
  case Answer::Kind::lost:
    hold->end(now, Hold::lost(answer.reason));
    schedule_check(hold, now);
    return;
  case Answer::Kind::failed:
    ++hold->failures;
    schedule_renewal(hold, now + backoff(hold->failures - 1u, std::chrono::nanoseconds{hold->ttl / 10}).count());
    return;
  case Answer::Kind::yield:
    if (!hold->yield_told || *hold->yield_told != answer.yield) {
      hold->yield_told = std::make_unique<std::string>(answer.yield);
      hold->yield = true;
      schedule_check(hold, now);
    }
    [[fallthrough]];
  case Answer::Kind::renewed:
    hold->failures = 0;
    hold->warned = false;
    if (hold->extend(now, answer.sent) && (hold->limit == 0 || now < hold->limit))
      schedule_renewal(hold, hold->renewal_after(answer.sent));
    else
      schedule_check(hold, now);
    return;
  }
}

// The watching thread.

void Keeper::watch() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    Moment next = checks_.empty() ? INT64_MAX : checks_.begin()->first;
    const Moment current = now(), machine = machine_now();
    for (Limit *limit : limits_) {
      if (!limit->aborted_ && limit->end_ <= machine) {
        limit->aborted_ = true;
        limit->connection_.abort();
      }
      if (!limit->aborted_)
        next = std::min(next, current + (limit->end_ - machine));
    }
    if (next > current) {
      if (next == INT64_MAX)
        watch_wake_.wait_for(lock, std::chrono::seconds{1});
      else
        pause(lock, watch_wake_, next);
      continue;
    }
    if (!checks_.empty() && checks_.begin()->first <= current) {
      const std::shared_ptr<Hold> hold = checks_.begin()->second;
      checks_.erase(checks_.begin());
      hold->check_at = 0;
      check(lock, hold);
    }
  }
}

template <typename Call> void Keeper::fire(std::unique_lock<std::mutex> &lock, Hold &hold, Call &&call) {
  hold.firing = true;
  lock.unlock();
  try {
    call();
  } catch (const std::exception &error) {
    hooks_.log(LogLevel::error, "a callback of lease \"" + hold.name.text() + "\" threw: " + error.what());
  } catch (...) {
    hooks_.log(LogLevel::error, "a callback of lease \"" + hold.name.text() + "\" threw");
  }
  lock.lock();
  hold.firing = false;
  settled_.notify_all();
}

void Keeper::check(std::unique_lock<std::mutex> &lock, const std::shared_ptr<Hold> &hold) {
  Moment current = now();
  std::int64_t value = hold->look(current);
  if (value > 0 && hold->limit != 0 && current >= hold->limit) {
    hold->end(current, Hold::lost(Loss::hold_limit));
    value = hold->look(current);
  }
  if (Hold::is_lost(value) && !hold->told) {
    hold->told = true;
    const Loss reason = Hold::reason(value);
    fire(lock, *hold, [&] {
      // Before anybody else's code, which may take its time.
      hold->stop.request_stop();
      hooks_.log(LogLevel::error, "lease \"" + hold->name.text() + "\" is lost: " + std::string{to_string(reason)});
      hooks_.metric("gatepost.client.lost", 1, hold->name.text());
      if (hold->callbacks && hold->callbacks->on_lost)
        hold->callbacks->on_lost(reason);
    });
  }
  if (value <= 0 || !hold->kept)
    return;
  if (hold->yield) {
    hold->yield = false;
    const std::string reason = *hold->yield_told;
    fire(lock, *hold, [&] {
      if (hold->callbacks && hold->callbacks->on_yield)
        hold->callbacks->on_yield(reason);
    });
  }
  if (!hold->warned && hold->kept && current >= value - hold->margin) {
    hold->warned = true;
    fire(lock, *hold, [&] {
      hooks_.log(LogLevel::warning, "renewals of lease \"" + hold->name.text() + "\" are late");
      if (hold->callbacks && hold->callbacks->on_warning)
        hold->callbacks->on_warning(std::chrono::nanoseconds{value - current});
    });
  }
  if (!hold->kept || hold->check_at != 0)
    return;
  value = hold->look(now());
  Moment next = value > 0 ? (hold->warned ? value : value - hold->margin) : now();
  if (hold->limit != 0)
    next = std::min(next, hold->limit);
  if (value > 0 || !hold->told)
    schedule_check(hold, next);
}

} // namespace gatepost::inline v0::detail
