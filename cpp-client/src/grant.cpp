#include <gatepost/grant.hpp>

#include "core.hpp"

namespace gatepost {
inline namespace v0 {

using detail::Hold;

Grant::Grant(std::shared_ptr<detail::Core> core, std::shared_ptr<detail::Hold> hold) noexcept
    : core_{std::move(core)}, hold_{std::move(hold)} {}

Grant::Grant(Grant &&other) noexcept = default;

Grant &Grant::operator=(Grant &&other) noexcept {
  if (this != &other) {
    end();
    core_ = std::move(other.core_);
    hold_ = std::move(other.hold_);
  }
  return *this;
}

Grant::~Grant() { end(); }

void Grant::end() noexcept {
  if (!hold_)
    return;
  try {
    core_->release(hold_);
  } catch (const std::exception &error) {
    core_->hooks().log(LogLevel::warning,
                       "lease \"" + hold_->name.text() + "\" could not be released: " + error.what());
  }
  hold_.reset();
  core_.reset();
}

const Name &Grant::name() const noexcept { return hold_->name; }
Token Grant::token() const noexcept { return hold_->token; }

boot_clock::time_point Grant::deadline() const noexcept {
  const std::int64_t value = hold_ ? hold_->look(core_->now()) : Hold::released;
  return boot_clock::time_point{std::chrono::nanoseconds{value > 0 ? value : 0}};
}

bool Grant::held() const noexcept { return hold_ && hold_->look(core_->now()) > 0; }

State Grant::state() const noexcept {
  if (!hold_)
    return State::released;
  const detail::Moment now = core_->now();
  const std::int64_t value = hold_->look(now);
  if (value == Hold::released)
    return State::released;
  if (Hold::is_lost(value))
    return State::lost;
  return now >= value - hold_->margin ? State::at_risk : State::held;
}

std::optional<Loss> Grant::loss() const noexcept {
  const std::int64_t value = hold_ ? hold_->look(core_->now()) : Hold::released;
  return Hold::is_lost(value) ? std::optional{Hold::reason(value)} : std::nullopt;
}

void Grant::require(Duration min_remaining) const {
  if (!hold_)
    throw lease_lost{"", Loss::released};
  const detail::Moment now = core_->now();
  const std::int64_t value = hold_->look(now);
  if (value == Hold::released)
    throw lease_lost{hold_->name.text(), Loss::released};
  if (Hold::is_lost(value))
    throw lease_lost{hold_->name.text(), Hold::reason(value)};
  if (value - now < min_remaining.count())
    throw lease_lost{hold_->name.text(), Loss::expired};
}

std::stop_token Grant::stop_token() const noexcept { return hold_ ? hold_->stop.get_token() : std::stop_token{}; }

bool Grant::release() { return hold_ && core_->release(hold_); }

Token Grant::detach() {
  if (!hold_)
    throw lease_lost{"", Loss::released};
  return core_->detach(hold_);
}

} // namespace v0
} // namespace gatepost
