#include "lease.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
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

// What one broken row became.
struct Broken {
  int64 before;
  int64 token; // above it where the name is in no use
};

struct Breaking {
  const Slots &slots;
  Relation history;
  Oid sequence;
  LeaseName name;
  uint64 key;
  const char *reason;

  // While a use or rung is open no token can be drawn for the name, or a permit's slot; the row is broken all the same,
  // and the next acquire waits for the use.
  bool take_tags(int32 slot) const {
    if (slot == lock_slot)
      return holder_try(key);
    if (!holder_take(key, HolderMode::use, false))
      return false;
    if (slot_take(key, slot, SlotMode::grant, false))
      return true;
    holder_drop(key, HolderMode::use);
    return false;
  }

  void drop_tags(int32 slot) const {
    if (slot == lock_slot)
      return holder_release(key);
    slot_drop(key, slot, SlotMode::grant);
    holder_drop(key, HolderMode::use);
  }

  // Under the mutex. Result: zeros when the row is not live.
  Broken break_row(const Look &found, int64 token) const {
    if (found.in_flight)
      refuse_in_flight(name, found);
    if (found.row == nullptr || (token != 0 && slot_data(found.row)->token != token) ||
        !is_live(state_of(*slot_data(found.row), this_moment())))
      return {0, 0};
    SlotData data = copy_of(found.row);
    const Moment moment = this_moment();
    data.state = stored::broken;
    data.prior = data.token;
    data.deadline = moment.now;
    data.boot = moment.boot;
    const bool tagged = take_tags(data.slot);
    if (tagged || mutant("broken_beside_uses"))
      data.token = draw_above(sequence, found.row);
    if (!update_slot(slots, found.row, data))
      refuse_in_flight(name, found);
    record_break(history, slots, found.row, data.token, reason);
    if (tagged)
      drop_tags(data.slot);
    return {data.prior, data.token};
  }

  // The row of the token; without one, the lease or all permits. A list of Broken.
  List *break_rows(int64 token) const {
    const Look first = token != 0 ? look_for(slots, name, token) : look(slots, name, lock_slot);
    List *broken = NIL;
    const auto add = [&](const Look &found) {
      const Broken row = break_row(found, token);
      if (row.token == 0)
        return;
      Broken *copy = static_cast<Broken *>(palloc(sizeof(Broken)));
      *copy = row;
      broken = lappend(broken, copy);
    };
    if (token != 0 || !is_semaphore(first)) {
      add(first);
      return broken;
    }
    ListCell *cell;
    foreach (cell, live_permits(slots, name, this_moment()))
      add(look(slots, name, lfirst_int(cell)));
    return broken;
  }
};

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
  note_touched(key);
  OutsideCall call;
  open_call(&call, name, key, true);
  mutex_lock(LockClass::mutex, key);
  const Breaking breaking{slots, history, sequence, name, key, reason};
  List *broken = breaking.break_rows(token);
  if (broken != NIL)
    look_outside(&call);
  mutex_unlock(LockClass::mutex, key);
  close_call(&call);
  if (broken == NIL) {
    close_history(history);
    unlock_sequence(sequence);
    close_slots(&slots);
    return 0;
  }
  int64 result = 0;
  ListCell *cell;
  foreach (cell, broken)
    result = Max(result, static_cast<Broken *>(lfirst(cell))->token);
  close_history_written(history, result);
  close_slots_written(&slots);
  if (!mutant("breaks_unflushed"))
    note_durable_change();
  foreach (cell, broken)
    end_use_of(name, static_cast<Broken *>(lfirst(cell))->before);
  flush_tokens(sequence, result);
  unlock_sequence(sequence);
  foreach (cell, broken)
    log_break(name, static_cast<Broken *>(lfirst(cell))->before, reason != nullptr ? reason : "");
  return result;
}

} // namespace gatepost
