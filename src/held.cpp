#include "held.hpp"

#include "mutant.hpp"
#include "permits.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

#ifdef GATEPOST_TEST
int64 holder_patience_us() { return test_bound_ms * int64{1000}; }
#else
constexpr int64 holder_patience_us() { return 5 * USECS_PER_SEC; }
#endif

// What the shortest of the leases has left; -1 when none is found.
int64 least_left(const Slots &slots, const LeaseName *names, const int64 *tokens, int count) {
  int64 least = -1;
  const Moment moment = this_moment();
  for (int i = 0; i < count; i++) {
    const Look found = look_for(slots, names[i], tokens[i]);
    if (found.row == nullptr)
      continue;
    const int64 left = remaining_us(*slot_data(found.row), moment);
    if (left > 0 && (least < 0 || left < least))
      least = left;
  }
  return least;
}

} // namespace

void open_slots_for_holders(Slots *slots, const LeaseName *names, const int64 *tokens, int count) {
  if (try_open_slots(slots, RowExclusiveLock, false, 0))
    return;
  int64 patience = short_patience_us;
  Slots reading;
  if (!mutant("holders_impatient") && try_open_slots(&reading, AccessShareLock, false, short_patience_us)) {
    patience = Max(patience, least_left(reading, names, tokens, count) / 3);
    // The deadlock detector does not see this wait.
    if (!mutant("holders_wait_unbounded"))
      patience = Min(patience, holder_patience_us());
    if (LockTimeout > 0 && !mutant("holders_outwait_limit"))
      patience = Min(patience, LockTimeout * int64{1000});
    close_slots(&reading);
  }
  open_slots(slots, RowExclusiveLock, false, patience);
}

const char *status_of(const Slots &slots, LeaseName name, const Look &found, int64 token, const Moment &moment) {
  if (found.in_flight && (found.row == nullptr || slot_data(found.row)->token <= token))
    return "in_flight";
  if (found.row == nullptr)
    return found.permits && latest_permit(slots, name, false) > token ? state_name(State::superseded) : "unknown";
  const SlotData *data = slot_data(found.row);
  if (data->state == stored::broken && data->prior == token)
    return state_name(State::broken);
  if (data->token > token)
    return state_name(State::superseded);
  if (data->token < token)
    return "unknown";
  return state_name(state_of(*data, moment));
}

bool may_change(const SlotData &row, const Moment &moment) {
  const State state = state_of(row, moment);
  return is_live(state) || (state == State::lapsed && mutant("lapsed_renewed"));
}

void renew(SlotData *row, int64 ttl, const Moment &moment) {
  if (ttl > 0)
    row->ttl = ttl;
  row->deadline = moment.now + row->ttl;
  row->boot = moment.boot;
  row->renewed_at = GetCurrentTimestamp();
  if (mutant("yield_lost_by_renewal"))
    row->yield_asked = false;
}

void release(SlotData *row, const Moment &moment) {
  row->state = stored::released;
  row->deadline = moment.now;
  row->boot = moment.boot;
}

} // namespace gatepost
