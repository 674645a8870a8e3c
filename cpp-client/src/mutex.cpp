#include <gatepost/mutex.hpp>

#include "core.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <array>
#include <atomic>

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
    {transaction_name, Capability::through_pooler},
    {session_name, Capability::lockable},
    {lease_name,
     Capability::lockable | Capability::fencing_token | Capability::survives_connection | Capability::through_pooler},
}};

/// Null: there is none of that name.
const Known *known_as(std::string_view name) {
  const auto place = std::find_if(known.begin(), known.end(), [&](const Known &each) { return each.name == name; });
  return place == known.end() ? nullptr : &*place;
}

std::string_view missing(Capabilities can, Capabilities needs) {
  const auto lacks = [&](Capability one) { return needs.has(one) && !can.has(one); };
  if (lacks(Capability::lockable))
    return "lock and unlock outside a transaction";
  if (lacks(Capability::fencing_token))
    return "give a fencing token";
  if (lacks(Capability::survives_connection))
    return "outlive its connection";
  if (lacks(Capability::through_pooler))
    return "work behind a pooler";
  return {};
}

} // namespace

Rung Rung::advisory_transaction() { return Rung{transaction_name}; }
Rung Rung::advisory_session() { return Rung{session_name}; }
Rung Rung::lease() { return Rung{lease_name}; }

Rung Rung::parse(std::string_view name) {
  if (const Known *found = known_as(name))
    return Rung{found->name};
  throw unsupported_rung{"no rung is called \"" + std::string{name} + "\""};
}

Capabilities capabilities(Rung rung) {
  const Known *found = known_as(rung.name());
  return found != nullptr ? found->can : Capabilities{};
}

struct Mutex::State {
  std::shared_ptr<detail::Core> core;
  Name name;
  Capabilities needs;
  std::optional<Ttl> ttl;
  std::atomic<const std::string_view *> next; ///< by its name, the rung from the next lock() on

  /// Taken while locked, so that threads of the process wait here and not in the server. In between it is nobody's, so
  /// this is no std::mutex: unlock() may come from another thread, by a moved std::unique_lock.
  mutable std::mutex mutex{};
  std::condition_variable freed{};
  bool busy = false;
  std::optional<Lease> lease{};
  std::optional<AdvisoryLock> lock{};

  Rung rung_now() const { return Rung::parse(*next.load()); }
  void check(Rung rung) const {
    const std::string_view lacks = missing(capabilities(rung), needs);
    if (!lacks.empty() && !detail::mutant("rung_unchecked"))
      throw unsupported_rung{"rung " + std::string{rung.name()} + " cannot " + std::string{lacks}};
    if (rung == Rung::advisory_session())
      core->session();
  }
  /// False: not to be had by then; 0: one try.
  bool take(Rung rung, detail::Moment end) {
    std::optional<Lease> taken;
    std::optional<AdvisoryLock> locked;
    if (rung == Rung::lease()) {
      const LeaseOptions options;
      detail::Request request = core->request(name, ttl, options);
      taken = detail::Access::maybe<Lease>(core, end == 0 || detail::mutant("lock_tried_once")
                                                     ? core->try_grant(request)
                                                     : core->wait_for_grant(request, end, {}));
    } else {
      locked = detail::Access::lock(core, core->full(name), end, {});
    }
    const std::lock_guard guard{mutex};
    lease = std::move(taken);
    lock = std::move(locked);
    return lease || lock;
  }
  /// The same after waiting for threads of the process.
  bool lock_until(detail::Moment end) {
    core->check_process();
    std::unique_lock guard{mutex};
    while (busy) {
      const std::int64_t left = end - core->now();
      if (left <= 0)
        return false;
      freed.wait_for(guard, std::min(std::chrono::nanoseconds{left}, core->options().clock->nap()));
    }
    busy = true;
    const Rung rung = rung_now();
    guard.unlock();
    bool taken = false;
    try {
      taken = take(rung, end);
    } catch (...) {
      done();
      throw;
    }
    if (!taken)
      done();
    return taken;
  }
  void done() noexcept {
    const std::lock_guard guard{mutex};
    busy = false;
    freed.notify_one();
  }
};

Mutex::Mutex(Client &client, Name name, Rung rung, Capabilities needs, std::optional<Ttl> ttl)
    : state_{new State{detail::Access::core(client), std::move(name), needs, ttl, &known_as(rung.name())->name}} {
  state_->needs = state_->needs | Capability::lockable;
  state_->check(rung);
}

Mutex::~Mutex() {
  // In a child process a thread of the parent's may have had the state's own mutex at the fork.
  if (state_->core->forked())
    static_cast<void>(state_.release());
  else
    unlock();
}

void Mutex::lock() { static_cast<void>(state_->lock_until(detail::never)); }

bool Mutex::try_lock() { return state_->lock_until(0); }

bool Mutex::try_lock_for(Duration timeout) {
  return state_->lock_until(timeout.count() > 0 ? detail::later(state_->core->now(), timeout) : 0);
}

bool Mutex::try_lock_until(boot_clock::time_point end) {
  return state_->lock_until(std::max(detail::moment(end), detail::Moment{0}));
}

void Mutex::unlock() noexcept {
  State &state = *state_;
  if (state.core->forked())
    return;
  std::optional<Lease> lease;
  std::optional<AdvisoryLock> lock;
  {
    const std::lock_guard guard{state.mutex};
    lease.swap(state.lease);
    lock.swap(state.lock);
  }
  if (!lease && !lock)
    return;
  if (lease && !lease->held() && !detail::mutant("unlock_after_loss_unsaid"))
    state.core->hooks().log(LogLevel::error,
                            "mutex \"" + state.name.text() + "\" had been lost before it was unlocked");
  lease.reset();
  lock.reset();
  state.done();
}

bool Mutex::held() const noexcept {
  if (state_->core->forked())
    return false;
  const std::lock_guard guard{state_->mutex};
  return (state_->lease && state_->lease->held()) || (state_->lock && state_->lock->held());
}

const Lease *Mutex::lease() const noexcept {
  if (state_->core->forked() && !detail::mutant("child_asks_for_the_mutex"))
    return nullptr;
  const std::lock_guard guard{state_->mutex};
  return state_->lease ? &*state_->lease : nullptr;
}

Rung Mutex::rung() const noexcept { return state_->rung_now(); }

void Mutex::change_rung(Rung rung) {
  state_->check(rung);
  state_->next = &known_as(rung.name())->name;
}

} // namespace v0
} // namespace gatepost
