// What a guard and the keeper share about one grant.
#pragma once

#include <gatepost/grant.hpp>
#include <gatepost/options.hpp>

#include "mutant.hpp"
#include "process.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace gatepost::inline v0::detail {

/// Nanoseconds of boot_clock.
using Moment = std::int64_t;

inline constexpr Moment never = INT64_MAX;

inline Moment moment(boot_clock::time_point time) noexcept { return time.time_since_epoch().count(); }

inline Moment machine_now() noexcept { return moment(boot_clock::now()); }

/// So long after a moment, but at most a century and a half after the start of the machine, which leaves room for sums.
inline Moment later(Moment from, std::chrono::nanoseconds length) noexcept {
  if (mutant("sums_overflow"))
    return static_cast<Moment>(static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(length.count()));
  constexpr Moment latest = INT64_MAX / 2;
  return length.count() > latest - from ? latest : from + length.count();
}

struct Callbacks {
  std::function<void(Loss)> on_lost;
  std::function<void(std::chrono::nanoseconds)> on_warning;
  std::function<void(const std::string &)> on_yield;
};

/// Its end is decided in one atomic: the own deadline while it is held, and a negative number for good afterwards. Who
/// reads that the deadline is past writes down the loss, so no later renewal brings it back.
struct Hold {
  Hold(Name name_, Token token_, std::chrono::nanoseconds ttl_, std::chrono::nanoseconds margin_, Moment sent,
       const LeaseOptions &options)
      : name{std::move(name_)}, token{token_}, ttl{ttl_.count()}, margin{margin_.count()},
        limit{options.max_hold.count() > 0 ? later(sent, options.max_hold) : 0}, until{deadline_for(sent)} {
    if (options.on_lost || options.on_warning || options.on_yield)
      callbacks.reset(new Callbacks{options.on_lost, options.on_warning, options.on_yield});
  }

  static constexpr std::int64_t released = -1;
  static constexpr std::int64_t lost(Loss reason) noexcept { return -2 - static_cast<std::int64_t>(reason); }
  static constexpr bool is_lost(std::int64_t value) noexcept { return value <= -2; }
  static constexpr Loss reason(std::int64_t value) noexcept { return static_cast<Loss>(-2 - value); }

  Moment deadline_for(Moment sent) const noexcept { return sent + ttl - margin; }
  Moment renewal_after(Moment sent) const noexcept { return sent + ttl / 3; }

  /// The own deadline, or how it has ended.
  std::int64_t look(Moment now) noexcept {
    std::int64_t value = until.load(std::memory_order_acquire);
    if (born != fork_count() && !mutant("forks_unseen"))
      return value == released ? value : lost(Loss::forked);
    while (value > 0 && now >= value)
      if (mutant("loss_forgotten") ||
          until.compare_exchange_weak(value, lost(Loss::expired), std::memory_order_acq_rel))
        return lost(Loss::expired);
    return value;
  }
  /// A renewal that was sent then is confirmed. False: too late, it has ended.
  bool extend(Moment now, Moment sent) noexcept {
    const Moment later = deadline_for(sent);
    std::int64_t value = mutant("loss_forgotten") ? until.load() : look(now);
    while (value > 0 && value < later)
      if (until.compare_exchange_weak(value, later, std::memory_order_acq_rel))
        return true;
    return value > 0;
  }
  /// The end, unless it has ended already. Returns how it was before.
  std::int64_t end(Moment now, std::int64_t how) noexcept {
    std::int64_t value = look(now);
    while (value > 0 && !until.compare_exchange_weak(value, how, std::memory_order_acq_rel)) {
    }
    return value;
  }

  const Name name;
  const Token token;
  const std::int64_t ttl;
  const std::int64_t margin;
  /// When max_hold is over; 0: never.
  const Moment limit;
  const unsigned born = fork_count();
  std::atomic<std::int64_t> until;
  std::stop_source stop;
  std::unique_ptr<Callbacks> callbacks;

  // Under the keeper's mutex.
  Moment renew_at = 0; ///< its place among the renewals; 0: none
  Moment check_at = 0; ///< its place among the checks; 0: none
  unsigned short failures = 0;
  bool kept = false;      ///< not let go of
  bool in_flight = false; ///< a renewal is on its way
  bool firing = false;    ///< a callback runs
  bool warned = false;
  bool told = false;                       ///< of its loss
  bool yield = false;                      ///< on_yield is to be told
  std::unique_ptr<std::string> yield_told; ///< the last request's reason
};

} // namespace gatepost::inline v0::detail
