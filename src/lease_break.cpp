#include "lease.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue.hpp"
#include "quoted.hpp"
#include "token.hpp"
#include "uses.hpp"

namespace gatepost {
namespace {

void log_break(LeaseName name, int64 token, const char *reason) {
  const char *role = GetUserNameFromId(GetUserId(), true);
  StringInfoData line;
  initStringInfo(&line);
  appendStringInfoString(&line, "lease broken: name ");
  append_quoted(&line, name.bytes());
  appendStringInfo(&line, ", token %lld, by ", static_cast<long long>(token));
  append_quoted(&line, role != nullptr ? role : "");
  appendStringInfoString(&line, ", reason ");
  constexpr int whole = 4096;
  append_quoted(&line, reason, whole);
  ereport(LOG, (errmsg_internal("%s", line.data)));
}

} // namespace

int64 break_lease(LeaseName name, int64 token, const char *reason) {
  ensure_identity();
  if (token != 0)
    require_known_token(token);
  Slots slots;
  open_slots(&slots, RowExclusiveLock, false, short_patience_us);
  const Oid sequence = lock_sequence();
  const Relation history = open_history();
  const uint64 key = key_of(name);
  OutsideCall call;
  open_call(&call, name, key, true);
  mutex_lock(LockClass::mutex, key);
  const Look found = look(slots, name, lock_slot);
  if (found.in_flight)
    refuse_in_flight(name);
  require_lock(name, found.row);
  int64 result = 0;
  if (found.row != nullptr && (token == 0 || slot_data(found.row)->token == token) &&
      is_live(state_of(*slot_data(found.row), this_moment()))) {
    SlotData data = *slot_data(found.row);
    const Moment moment = this_moment();
    data.state = stored::broken;
    data.prior = data.token;
    data.deadline = moment.now;
    data.boot = moment.boot;
    // While a use or rung is open no token can be drawn for the name; the row is broken all the same, and the next
    // acquire waits for the use.
    const bool tagged = holder_try(key);
    if (tagged || mutant("broken_beside_uses"))
      data.token = draw_above(sequence, found.row);
    if (!update_slot(slots, found.row, data))
      refuse_in_flight(name);
    record_break(history, slots, found.row, data.token, reason);
    if (tagged)
      holder_release(key);
    result = data.token;
    look_outside(&call);
  }
  mutex_unlock(LockClass::mutex, key);
  close_call(&call);
  if (result == 0) {
    close_history(history);
    unlock_sequence(sequence);
    close_slots(&slots);
    return 0;
  }
  close_history_written(history, result);
  close_slots_written(&slots);
  note_touched(key);
  note_durable_change();
  end_use(name);
  flush_tokens(sequence, result);
  unlock_sequence(sequence);
  log_break(name, slot_data(found.row)->token, reason != nullptr ? reason : "");
  return result;
}

} // namespace gatepost
