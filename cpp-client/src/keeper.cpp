#include "keeper.hpp"

#include <gatepost/error.hpp>

#include "mutant.hpp"
#include "statements.hpp"
#include "text.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace gatepost::inline v0::detail {

namespace {

/// What one statement renews at most, so that no lease waits behind too many others.
constexpr std::size_t largest_batch = 5000;

constexpr Moment in_milliseconds(std::int64_t count) { return count * 1'000'000; }

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
    if (!mutant("first_thread_left"))
      stop();
    throw;
  }
}

void Keeper::stop() noexcept {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
    // One that is idle is still good for the pool that it came from.
    if (connection_ && asking_)
      connection_->abort();
    // Nobody watches any more how long they take.
    if (!mutant("calls_outlive_the_watch"))
      for (Limit *limit : limits_)
        limit->abort();
    // By a callback the last has ended to whom it could be told.
    if (telling_on_ == std::this_thread::get_id()) {
      news_.clear();
      untellable_ = true;
    }
    if (watching_.get_id() == std::this_thread::get_id())
      watched_ = true;
  }
  renewer_.wake.notify_all();
  watcher_.wake.notify_all();
  told_.notify_all();
  // The watching one may just be starting the telling one.
  for (std::thread *thread : {&renewing_, &watching_, &telling_}) {
    if (!thread->joinable())
      continue;
    if (thread->get_id() == std::this_thread::get_id())
      thread->detach();
    else
      thread->join();
  }
}

void Keeper::keep(const std::shared_ptr<Hold> &hold, Moment sent) {
  const std::lock_guard lock{mutex_};
  hold->kept = true;
  schedule_renewal(hold, hold->renewal_after(sent));
  const Moment at_risk = hold->deadline_for(sent) - hold->margin;
  schedule_check(hold, hold->limit != 0 && !mutant("hold_limit_late") ? std::min(at_risk, hold->limit) : at_risk);
}

void Keeper::let_go(const std::shared_ptr<Hold> &hold) noexcept {
  // What callbacks hold on to is the user's, and may be another guard: it ends when the mutex is free again.
  std::unique_ptr<Callbacks> callbacks;
  std::unique_lock lock{mutex_};
  if (mutant("renewed_past_release"))
    return;
  hold->kept = false;
  if (hold->renew_at != 0)
    renewals_.erase({hold->renew_at, hold});
  if (hold->check_at != 0)
    checks_.erase({hold->check_at, hold});
  hold->renew_at = hold->check_at = 0;
  if (mutant("renewal_not_awaited"))
    return;
  const bool in_callback = std::this_thread::get_id() == telling_on_;
  settled_.wait(lock, [&] { return stopping_ || (!hold->in_flight && (in_callback || !hold->firing)); });
  if (!hold->firing && !mutant("callbacks_outlive_their_guard"))
    callbacks = std::move(hold->callbacks);
}

Keeper::Limit::Limit(Keeper &keeper, Connection &connection, Moment end, bool *cut)
    : keeper_{keeper}, connection_{connection}, end_{end}, cut_{cut} {
  const std::lock_guard lock{keeper_.mutex_};
  keeper_.limits_.push_back(this);
  if (keeper_.stopping_ && !mutant("calls_outlive_the_watch"))
    abort();
  keeper_.watcher_.look_at(keeper_.now() + (end - machine_now()));
}

Keeper::Limit::~Limit() {
  const std::lock_guard lock{keeper_.mutex_};
  std::erase(keeper_.limits_, this);
  if (cut_ != nullptr && !mutant("cut_connection_kept"))
    *cut_ = aborted_;
}

void Keeper::Limit::abort() noexcept {
  if (!std::exchange(aborted_, true))
    connection_.abort();
}

void Keeper::pause(std::unique_lock<std::mutex> &lock, Sleeper &sleeper, Moment until) {
  // The condition variable's clock stands still while the machine is suspended, so no nap is long.
  const Moment current = now();
  const std::chrono::nanoseconds nap =
      std::min(std::chrono::nanoseconds{std::max<Moment>(until - current, 0)}, clock_->nap());
  sleeper.until = current + nap.count();
  sleeper.wake.wait_for(lock, nap);
}

void Keeper::schedule_renewal(const std::shared_ptr<Hold> &hold, Moment at) {
  if (hold->renew_at != 0)
    renewals_.erase({hold->renew_at, hold});
  hold->renew_at = at;
  renewals_.emplace(at, hold);
  renewer_.look_at(at);
}

void Keeper::schedule_check(const std::shared_ptr<Hold> &hold, Moment at) {
  if (hold->check_at != 0)
    checks_.erase({hold->check_at, hold});
  hold->check_at = at;
  checks_.emplace(at, hold);
  watcher_.look_at(at);
}

// The renewing thread.

void Keeper::renew() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    // With nothing to renew it naps too: grants that come and go sooner than they are renewed then wake nobody.
    const Moment due =
        renewals_.empty() ? INT64_MAX : std::max(renewals_.begin()->first, connection_ ? 0 : connect_at_);
    if (due > now()) {
      pause(lock, renewer_, due);
      continue;
    }
    if (!connected(lock))
      continue;
    const Holds batch = collect(now());
    if (batch.empty())
      continue;
    std::vector<Answer> answers(batch.size());
    asking_ = true;
    lock.unlock();
    const Moment started = now();
    ask(batch, answers);
    const Moment ended = now();
    hooks_.metric("gatepost.client.renewals", static_cast<double>(batch.size()));
    hooks_.metric("gatepost.client.renew.seconds", static_cast<double>(ended - started) / 1e9);
    lock.lock();
    asking_ = false;
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
  if (fresh && std::exchange(broke_, false))
    hooks_.metric("gatepost.client.reconnects", 1);
  if (!fresh)
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
    const bool ended = hold->look(now) <= 0 && !mutant("renewed_past_release");
    if (!ended && !tokens.insert(hold->token.value()).second && !mutant("token_twice_in_a_batch")) {
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
  std::int64_t patience = in_milliseconds(5000);
  for (const auto &hold : batch) {
    names.add(hold->name.text());
    tokens.add(hold->token.value());
    patience = std::min(patience, std::max(hold->ttl / 6, in_milliseconds(250)));
  }
  try {
    const std::vector<Value> parameters{std::move(names).take(), std::move(tokens).take()};
    const Rows answer = [&] {
      const Limit limit{*this, *connection_, machine_now() + patience};
      return connection_->execute(sql::lease_renew_many, parameters);
    }();
    if (answer.warned && !mutant("warning_ignored_at_renewal")) {
      hooks_.log(LogLevel::warning, "a renewal came with a warning, and does not count");
      return;
    }
    // Until all of it has been read, nothing is renewed.
    std::vector<Answer> read(batch.size(),
                             {Answer::Kind::renewed, mutant("deadline_after_reply") ? now() : sent, {}, {}});
    if (mutant("unread_answer_renews"))
      std::copy(read.begin(), read.end(), answers.begin());
    std::unordered_map<std::int64_t, std::size_t> places;
    for (std::size_t i = 0; i < batch.size() && !answer.rows.empty(); ++i)
      places.emplace(batch[i]->token.value(), i);
    for (const auto &row : answer.rows) {
      const auto place = row[1] ? places.find(std::stoll(*row[1])) : places.end();
      if (place == places.end())
        continue;
      Answer &each = read[place->second];
      if (row[2] == "lost")
        each = {Answer::Kind::lost, sent, reason_of(row[3]), {}};
      else if (row[2] == "yield")
        each = {Answer::Kind::yield, sent, {}, row[3].value_or("")};
      else
        each = {};
    }
    std::move(read.begin(), read.end(), answers.begin());
  } catch (const unavailable &error) {
    hooks_.log(LogLevel::warning, std::string{"renewals failed, the connection is given up: "} + error.what());
    hooks_.metric("gatepost.client.renew.failures", static_cast<double>(batch.size()));
    if (mutant("broken_connection_kept"))
      return;
    std::unique_ptr<Connection> broken;
    const std::lock_guard lock{mutex_};
    broken = std::move(connection_);
    broke_ = true;
  } catch (const error &error) {
    // One whose name or right is amiss must not take the others along.
    if (batch.size() > 1 && !is_transient(error.sqlstate()) && !mutant("one_error_fails_all")) {
      const std::size_t half = batch.size() / 2;
      ask(batch.first(half), answers.first(half));
      ask(batch.subspan(half), answers.subspan(half));
      return;
    }
    hooks_.log(LogLevel::warning, "renewal of \"" + batch[0]->name.text() + "\" failed: " + error.what());
    hooks_.metric("gatepost.client.renew.failures", static_cast<double>(batch.size()), batch[0]->name.text());
    if (mutant("refusal_renews"))
      std::fill(answers.begin(), answers.end(), Answer{Answer::Kind::renewed, sent, {}, {}});
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
      if (limit->end_ <= machine)
        limit->abort();
      if (!limit->aborted_)
        next = std::min(next, current + (limit->end_ - machine));
    }
    if (next > current) {
      if (fresh_.empty())
        pause(lock, watcher_, next);
      else
        hand_over(lock);
      continue;
    }
    if (!checks_.empty() && checks_.begin()->first <= current) {
      const std::shared_ptr<Hold> hold = checks_.begin()->second;
      checks_.erase(checks_.begin());
      hold->check_at = 0;
      check(lock, hold);
    }
  }
  // What has been found beside the end.
  if (!fresh_.empty() && !mutant("untold_at_the_end"))
    hand_over(lock);
  watched_ = true;
  told_.notify_all();
}

void Keeper::check(std::unique_lock<std::mutex> &lock, const std::shared_ptr<Hold> &hold) {
  const Moment current = now();
  std::int64_t value = hold->look(current);
  if (value > 0 && hold->limit != 0 && current >= hold->limit && !mutant("hold_limit_ignored")) {
    hold->end(current, Hold::lost(Loss::hold_limit));
    value = hold->look(current);
  }
  if (Hold::is_lost(value) && !hold->told && !mutant("loss_untold")) {
    hold->told = true;
    // Who waits for it may call the keeper.
    lock.unlock();
    hold->stop.request_stop();
    lock.lock();
    add(lock, {News::Kind::lost, hold, Hold::reason(value)});
  }
  if (value <= 0 || !hold->kept)
    return;
  if (hold->yield) {
    hold->yield = false;
    add(lock, {News::Kind::yield, hold, {}, *hold->yield_told});
  }
  if (!hold->warned && hold->kept && !mutant("warning_untold") && current >= value - hold->margin) {
    hold->warned = true;
    add(lock, {News::Kind::late, hold});
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

void Keeper::add(std::unique_lock<std::mutex> &lock, News news) {
  const Callbacks *callbacks = news.hold->callbacks.get();
  const bool hooks = news.kind != News::Kind::yield && (hooks_.log_hook || hooks_.metric_hook);
  if (!hooks && callbacks == nullptr && !mutant("told_to_nobody"))
    return;
  if (mutant("callbacks_on_the_watch"))
    tell(lock, news);
  else
    fresh_.push_back(std::move(news));
}

void Keeper::hand_over(std::unique_lock<std::mutex> &lock) {
  std::vector<News> fresh = std::exchange(fresh_, {});
  if (untellable_)
    return;
  try {
    if (!telling_.joinable())
      telling_ = start_thread("gatepost-tell", [self = shared_from_this()] { self->tell_all(); });
  } catch (const unavailable &) {
    // Late is better than never; unless one of them has ended all.
    for (const News &news : fresh)
      if (!untellable_ && !mutant("told_by_a_thread_or_not"))
        tell(lock, news);
    return;
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(news_));
  told_.notify_all();
}

// The telling thread.

void Keeper::tell_all() {
  std::unique_lock lock{mutex_};
  while (true) {
    told_.wait(lock, [this] { return watched_ || !news_.empty(); });
    if (news_.empty())
      return;
    const News news = std::move(news_.front());
    news_.pop_front();
    tell(lock, news);
  }
}

void Keeper::tell(std::unique_lock<std::mutex> &lock, const News &news) {
  static const Callbacks silent{};
  Hold &hold = *news.hold;
  // Of a guard that has ended only the hooks hear.
  const Callbacks &callbacks = hold.callbacks ? *hold.callbacks : silent;
  hold.firing = true;
  telling_on_ = std::this_thread::get_id();
  lock.unlock();
  try {
    say(news, callbacks);
  } catch (const std::exception &error) {
    hooks_.log(LogLevel::error, "a callback of lease \"" + hold.name.text() + "\" threw: " + error.what());
    if (mutant("callbacks_unguarded"))
      throw;
  } catch (...) {
    hooks_.log(LogLevel::error, "a callback of lease \"" + hold.name.text() + "\" threw");
  }
  lock.lock();
  if (!hold.kept && !mutant("callbacks_outlive_their_guard")) {
    std::unique_ptr<Callbacks> ended = std::move(hold.callbacks);
    lock.unlock();
    ended.reset();
    lock.lock();
  }
  telling_on_ = {};
  hold.firing = false;
  settled_.notify_all();
}

void Keeper::say(const News &news, const Callbacks &callbacks) {
  Hold &hold = *news.hold;
  switch (news.kind) {
  case News::Kind::lost:
    hooks_.log(LogLevel::error, "lease \"" + hold.name.text() + "\" is lost: " + std::string{to_string(news.reason)});
    hooks_.metric("gatepost.client.lost", 1, hold.name.text());
    if (callbacks.on_lost)
      callbacks.on_lost(news.reason);
    return;
  case News::Kind::yield:
    if (callbacks.on_yield)
      callbacks.on_yield(news.yield);
    return;
  case News::Kind::late:
    hooks_.log(LogLevel::warning, "renewals of lease \"" + hold.name.text() + "\" are late");
    // It may have recovered, or ended, while something else was told.
    const Moment current = now();
    const std::int64_t value = hold.look(current);
    if (callbacks.on_warning && value > 0 && current >= value - hold.margin)
      callbacks.on_warning(std::chrono::nanoseconds{value - current});
    return;
  }
}

} // namespace gatepost::inline v0::detail
