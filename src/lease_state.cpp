#include "lease_state.hpp"

#include "clock.hpp"
#include "identity.hpp"
#include "mutant.hpp"

namespace gatepost {

const char *state_name(State state) {
  switch (state) {
  case State::held:
    return "held";
  case State::recovering:
    return "recovering";
  case State::lapsed:
    return "lapsed";
  case State::released:
    return "released";
  case State::broken:
    return "broken";
  case State::superseded:
    return "superseded";
  }
  pg_unreachable();
}

Moment this_moment() {
  if (mutant("transaction_time")) {
    const int64 age = GetCurrentTimestamp() - GetCurrentTransactionStartTimestamp();
    return {boottime_us() - age, boot_fingerprint()};
  }
  return {boottime_us(), boot_fingerprint()};
}

State state_of(const SlotData &row, const Moment &moment) {
  if (row.state == stored::released)
    return State::released;
  if (row.state == stored::broken)
    return State::broken;
  if (row.superseded)
    return State::superseded;
  if (row.boot == moment.boot || mutant("boot_ignored"))
    return moment.now < row.deadline ? State::held : State::lapsed;
  return remaining_us(row, moment) > 0 ? State::recovering : State::lapsed;
}

int64 remaining_us(const SlotData &row, const Moment &moment) {
  if (row.state != stored::held || row.superseded)
    return 0;
  if (row.boot == moment.boot)
    return Max(row.deadline - moment.now, 0);
  const Recovery base = recovery();
  return base.settled ? Max(base.since + row.ttl - moment.now, 0) : row.ttl;
}

} // namespace gatepost
