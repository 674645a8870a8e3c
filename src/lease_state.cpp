#include "lease_state.hpp"

#include "arguments.hpp"
#include "clock.hpp"
#include "identity.hpp"
#include "mutant.hpp"

namespace gatepost {

int closed_after_lapse_ms;

namespace {

int64 closed_us() {
  return mutant("closed_ignored") ? 0 : Min(closed_after_lapse_ms * int64{1000}, max_ttl_seconds * USECS_PER_SEC);
}

// When a lease that was neither released nor broken nor superseded lapses, on the clock of the moment's boot; -1:
// nobody knows.
int64 lapse_of(const SlotData &row, const Moment &moment) {
  if (row.boot == moment.boot)
    return row.deadline;
  const Recovery base = recovery();
  return base.settled ? base.since + row.ttl : -1;
}

} // namespace

const char *called(char kind) {
  return kind == kind::lock ? "lease" : kind == kind::permit ? "a permit of" : "semaphore";
}

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
  const int64 lapse = lapse_of(row, moment);
  return lapse < 0 ? row.ttl : Max(lapse - moment.now, 0);
}

int64 shut_us(const SlotData &row, const Moment &moment) {
  if (row.superseded || (row.state != stored::held && !mutant("closed_after_release")))
    return 0;
  const int64 lapse = lapse_of(row, moment);
  return lapse < 0 ? row.ttl + closed_us() : Max(lapse - moment.now + closed_us(), 0);
}

bool is_shut(const SlotData &row, const Moment &moment) {
  return is_live(state_of(row, moment)) || shut_us(row, moment) > 0;
}

int64 open_for_us(const SlotData &row, const Moment &moment) {
  if (row.boot != moment.boot)
    return -1;
  const bool lapsed = row.state == stored::held && !row.superseded;
  return moment.now - row.deadline - (lapsed ? closed_us() : 0);
}

} // namespace gatepost
