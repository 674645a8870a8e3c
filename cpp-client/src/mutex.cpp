#include <gatepost/mutex.hpp>

#include "core.hpp"

#include <array>

namespace gatepost {
inline namespace v0 {

namespace {

constexpr std::string_view transaction_name = "advisory_transaction", session_name = "advisory_session",
                           lease_name = "lease";

struct Known {
  std::string_view name;
  Capabilities can;
};
constexpr std::array<Known, 3> known{{
    {transaction_name, {false, false, false, true}},
    {session_name, {true, false, false, false}},
    {lease_name, {true, true, true, true}},
}};

std::string_view missing(const Capabilities &can, const Capabilities &needs) {
  if (needs.lockable && !can.lockable)
    return "lock and unlock outside a transaction";
  if (needs.fencing_token && !can.fencing_token)
    return "give a fencing token";
  if (needs.survives_connection && !can.survives_connection)
    return "outlive its connection";
  if (needs.through_pooler && !can.through_pooler)
    return "work behind a pooler";
  return {};
}

} // namespace

Rung Rung::advisory_transaction() { return Rung{transaction_name}; }
Rung Rung::advisory_session() { return Rung{session_name}; }
Rung Rung::lease() { return Rung{lease_name}; }

Rung Rung::parse(std::string_view name) {
  for (const Known &each : known)
    if (each.name == name)
      return Rung{each.name};
  throw unsupported_rung{"no rung is called \"" + std::string{name} + "\""};
}

Capabilities capabilities(Rung rung) {
  for (const Known &each : known)
    if (each.name == rung.name())
      return each.can;
  return {};
}

struct Mutex::State {
  Client *client;
  Name name;
  Capabilities needs;
  std::optional<Ttl> ttl;
  Rung next;

  /// Taken while locked, so that threads of the process wait here and not in the server. In between it is nobody's, so
  /// this is no std::mutex: unlock() may come from another thread, by a moved std::unique_lock.
  mutable std::mutex mutex{};
  std::condition_variable freed{};
  bool busy = false;
  std::optional<Lease> lease{};
  std::optional<AdvisoryLock> lock{};

  void check(Rung rung) const {
    const std::string_view lacks = missing(capabilities(rung), needs);
    if (!lacks.empty())
      throw unsupported_rung{"rung " + std::string{rung.name()} + " cannot " + std::string{lacks}};
    if (rung == Rung::advisory_session())
      detail::Access::core(*client)->session();
  }
  void done() noexcept {
    const std::lock_guard guard{mutex};
    busy = false;
    freed.notify_one();
  }
};

Mutex::Mutex(Client &client, Name name, Rung rung, Capabilities needs, std::optional<Ttl> ttl)
    : state_{new State{&client, std::move(name), needs, ttl, rung}} {
  state_->needs.lockable = true;
  state_->check(rung);
}

Mutex::~Mutex() { unlock(); }

void Mutex::lock() {
  State &state = *state_;
  std::unique_lock guard{state.mutex};
  state.freed.wait(guard, [&] { return !state.busy; });
  state.busy = true;
  const Rung rung = state.next;
  guard.unlock();
  try {
    std::optional<Lease> lease;
    std::optional<AdvisoryLock> lock;
    if (rung == Rung::lease())
      lease.emplace(state.client->acquire(state.name, state.ttl));
    else
      lock.emplace(state.client->advisory_lock(state.name));
    guard.lock();
    state.lease = std::move(lease);
    state.lock = std::move(lock);
  } catch (...) {
    state.done();
    throw;
  }
}

bool Mutex::try_lock() {
  State &state = *state_;
  std::unique_lock guard{state.mutex};
  if (state.busy)
    return false;
  state.busy = true;
  const Rung rung = state.next;
  guard.unlock();
  try {
    std::optional<Lease> lease;
    std::optional<AdvisoryLock> lock;
    if (rung == Rung::lease())
      lease = state.client->try_acquire(state.name, state.ttl);
    else
      lock = state.client->try_advisory_lock(state.name);
    if (!lease && !lock) {
      state.done();
      return false;
    }
    guard.lock();
    state.lease = std::move(lease);
    state.lock = std::move(lock);
    return true;
  } catch (...) {
    state.done();
    throw;
  }
}

void Mutex::unlock() noexcept {
  State &state = *state_;
  std::optional<Lease> lease;
  std::optional<AdvisoryLock> lock;
  {
    const std::lock_guard guard{state.mutex};
    lease.swap(state.lease);
    lock.swap(state.lock);
  }
  if (!lease && !lock)
    return;
  if (lease && !lease->held())
    detail::Access::core(*state.client)
        ->hooks()
        .log(LogLevel::error, "mutex \"" + state.name.text() + "\" had been lost before it was unlocked");
  lease.reset();
  lock.reset();
  state.done();
}

bool Mutex::held() const noexcept {
  const std::lock_guard guard{state_->mutex};
  return (state_->lease && state_->lease->held()) || (state_->lock && state_->lock->held());
}

const Lease *Mutex::lease() const noexcept {
  const std::lock_guard guard{state_->mutex};
  return state_->lease ? &*state_->lease : nullptr;
}

Rung Mutex::rung() const noexcept {
  const std::lock_guard guard{state_->mutex};
  return state_->next;
}

void Mutex::change_rung(Rung rung) {
  state_->check(rung);
  const std::lock_guard guard{state_->mutex};
  state_->next = rung;
}

} // namespace v0
} // namespace gatepost
