#include "lease.hpp"

#include "client.hpp"
#include "clock.hpp"
#include "durability.hpp"
#include "errors.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "lease_state.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "quoted.hpp"
#include "relations.hpp"
#include "rights.hpp"
#include "rungs.hpp"
#include "slots.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"
#include "waiters.hpp"
#include "waiting.hpp"

namespace gatepost {
namespace {

constexpr int32 lock_slot = 0;

bool has_request(const pg_uuid_t &id) {
  const pg_uuid_t nil{};
  return memcmp(&id, &nil, sizeof id) != 0;
}

[[noreturn]] void refuse_in_flight(LeaseName name) {
  ereport(ERROR, (errcode(in_flight),
                  errmsg("lease \"%s\" is being changed by a transaction that is still open", printable(name)),
                  errhint("The answer is not known yet; try again within the lease's time.")));
}

void require_lock(LeaseName name, HeapTuple row) {
  if (row == nullptr || slot_data(row)->kind == kind::lock)
    return;
  ereport(ERROR, (errcode(wrong_kind), errmsg("\"%s\" is a semaphore, not a lease", printable(name))));
}

// The caller's own grant of this name, asked for again with the same request id: the answer was lost on the way.
bool same_request(const AcquireRequest &request, HeapTuple row) {
  if (row == nullptr || !has_request(request.request_id))
    return false;
  const SlotData *data = slot_data(row);
  return memcmp(&data->request_id, &request.request_id, sizeof data->request_id) == 0 && data->role == GetUserId();
}

// Own locks do not conflict in the server: the lease would be live beside the session's lock.
void refuse_own_session_rung(LeaseName name) {
  if (!any_session_rung() || !holds_session_rung(key_of(name)) || mutant("own_rung_ignored"))
    return;
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_IN_USE), errmsg("this session holds the advisory lock \"%s\"", printable(name)),
           errhint("Take the transaction's lock and the lease in one transaction to climb from one to the "
                   "other.")));
}

enum class Verdict { free, busy, same };

// What acquire makes of a look.
Verdict judge(const AcquireRequest &request, const Look &found, const Moment &moment) {
  if (found.in_flight && !mutant("flight_ignored")) {
    if (same_request(request, found.flight))
      refuse_in_flight(request.name);
    return Verdict::busy;
  }
  require_lock(request.name, found.row);
  if (found.row == nullptr)
    return Verdict::free;
  const State state = state_of(*slot_data(found.row), moment);
  if (state == State::held && same_request(request, found.row))
    return Verdict::same;
  return is_live(state) ? Verdict::busy : Verdict::free;
}

// Writes the granted row. The clock is read here, in the mutex and after any wait.
bool write_grant(const Slots &slots, Relation history, const AcquireRequest &request, HeapTuple old, int64 token) {
  Datum address;
  const bool has_address = client_address(&address);
  const Moment moment = this_moment();
  const TimestampTz now = GetCurrentTimestamp();
  const SlotData data{
      token,     0, moment.now + request.ttl, request.ttl, moment.boot,  now,  now, GetUserId(), MyProcPid,
      lock_slot, 1, request.request_id,       kind::lock,  stored::held, false};
  const SlotText texts{request.name,
                       request.owner != nullptr ? request.owner
                                                : client_label(application_name, address, has_address, MyProcPid),
                       has_address ? DatumGetInetPP(address) : nullptr, request.metadata};
  const bool written = old == nullptr ? insert_slot(slots, data, texts) : replace_slot(slots, old, data, texts);
  if (written)
    record_grant(history, data, texts, old, moment);
  return written;
}

// A token above the row's. Where the sequence has fallen below it (RESTART, setval, a tool that lost its value) the
// generation is raised first; that may wait inside the mutex, within bounds.
int64 draw_above(Oid sequence, HeapTuple row) {
  const int64 token = draw_token(sequence);
  if (row == nullptr || token > slot_data(row)->token || mutant("fallen_sequence_believed"))
    return token;
  raise_generation(slot_data(row)->token);
  return draw_token(sequence);
}

// A name that has just become free is the first waiter's: he has been woken and needs a moment. Others hold back for
// that long, unless nobody waits.
bool is_called_elsewhere(HeapTuple row, const Moment &moment, uint64 key, const Waiter *waiter) {
  constexpr int64 call_us = 10 * 1000;
  if (row == nullptr || mutant("tries_overtake"))
    return false;
  const SlotData &data = *slot_data(row);
  if (data.boot != moment.boot || moment.now - data.deadline >= call_us || moment.now < data.deadline)
    return false;
  return waiter != nullptr ? !is_first(*waiter) : others_wait(key);
}

// The look and the grant under the mutex. Result: the token, 0 when busy.
int64 grant(const Slots &slots, Relation history, Oid sequence, const AcquireRequest &request, const Look &first,
            uint64 key, const Waiter *waiter, bool *written) {
  const Look found = mutant("first_look_believed") ? first : look(slots, request.name, lock_slot);
  switch (judge(request, found, this_moment())) {
  case Verdict::busy:
    return 0;
  case Verdict::same:
    // Written once more: the commit that granted may have been cancelled while it waited for a standby, and only the
    // commit of a write waits again.
    *written = update_slot(slots, found.row, *slot_data(found.row));
    return *written ? slot_data(found.row)->token : 0;
  case Verdict::free:
    break;
  }
  if (is_called_elsewhere(found.row, this_moment(), key, waiter))
    return 0;
  at(Point::acquire_mutexed);
  // A tag held elsewhere is a use or a rung: the name is not free, whatever its row says.
  const bool tagged = holder_try(key);
  if (!tagged && !mutant("grants_beside_uses"))
    return 0;
  if (mutant("tag_probed"))
    holder_release(key);
  at(Point::acquire_tagged);
  const int64 token = draw_above(sequence, found.row);
  *written = write_grant(slots, history, request, found.row, token);
  at(Point::acquire_written);
  if (tagged && !mutant("tag_probed"))
    holder_release(key);
  return *written ? token : 0;
}

bool stored_long(HeapTuple row) { return row != nullptr && HeapTupleHasExternal(row); }

constexpr int64 holder_patience_us = 5 * USECS_PER_SEC;

// Opens lease_slots for the holder of a lease: queued DDL must not lose it, so a call may wait for the locks up to a
// third of what is left, and at most 5 s.
void open_slots_for_holder(Slots *slots, LeaseName name) {
  if (try_open_slots(slots, RowExclusiveLock, false, 0))
    return;
  int64 patience = short_patience_us;
  Slots reading;
  if (!mutant("holders_impatient") && try_open_slots(&reading, AccessShareLock, false, short_patience_us)) {
    const Look found = look(reading, name, lock_slot);
    if (found.row != nullptr)
      patience = Max(patience, remaining_us(*slot_data(found.row), this_moment()) / 3);
    // The deadlock detector does not see this wait.
    patience = Min(patience, holder_patience_us);
    if (LockTimeout > 0)
      patience = Min(patience, LockTimeout * int64{1000});
    close_slots(&reading);
  }
  open_slots(slots, RowExclusiveLock, false, patience);
}

// The row if the token is its current one; nullptr: false is the answer.
HeapTuple own_row(LeaseName name, const Look &found, int64 token) {
  if (found.in_flight)
    refuse_in_flight(name);
  require_lock(name, found.row);
  if (found.row == nullptr || (slot_data(found.row)->token != token && !mutant("tokens_uncompared")))
    return nullptr;
  require_member(slot_data(found.row)->role, name);
  return found.row;
}

bool may_change(const SlotData &row, const Moment &moment) {
  const State state = state_of(row, moment);
  return is_live(state) || (state == State::lapsed && mutant("lapsed_renewed"));
}

// One change of the holder's own row, under the mutex. Change: (SlotData *, const Moment &), the moment being the one
// in which the lease was found live: no later one may lengthen it.
template <class Change> bool change_held(LeaseName name, int64 token, Point point, Change change) {
  Slots slots;
  open_slots_for_holder(&slots, name);
  const uint64 key = key_of(name);
  mutex_lock(LockClass::mutex, key);
  const HeapTuple row = own_row(name, look(slots, name, lock_slot), token);
  at(point);
  const Moment moment = this_moment();
  const bool changed = row != nullptr && may_change(*slot_data(row), moment);
  if (changed) {
    SlotData data = *slot_data(row);
    change(&data, moment);
    if (!update_slot(slots, row, data))
      refuse_in_flight(name);
  }
  mutex_unlock(LockClass::mutex, key);
  changed ? close_slots_written(&slots) : close_slots(&slots);
  if (changed)
    note_touched(key);
  return changed;
}

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

namespace {

// What one try came to.
struct Try {
  int64 token;        // 0: busy
  int64 remaining_us; // until the holder's deadline as far as the look can tell; -1: unknown
};

Try busy(const Look &found) {
  return {0, found.row == nullptr || found.in_flight ? -1 : remaining_us(*slot_data(found.row), this_moment())};
}

Try try_lease(const AcquireRequest &request, uint64 key, const Waiter *waiter) {
  // Most who ask are refused: that look takes no lock that anyone waits for, and its "busy" is good without the mutex.
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  const Look first = look(slots, request.name, lock_slot);
  const Verdict verdict = judge(request, first, this_moment());
  close_slots(&slots);
  if (verdict == Verdict::busy && !mutant("refused_tries_write"))
    return busy(first);
  if (verdict == Verdict::same && (!standby_asked() || mutant("retries_unwritten")))
    return {slot_data(first.row)->token, -1};
  at(Point::acquire_looked);

  const bool toast = request.metadata != nullptr || stored_long(first.row);
  open_slots(&slots, RowExclusiveLock, toast, short_patience_us);
  const Oid sequence = lock_sequence();
  const Relation history = open_history();
  bool written = false;
  mutex_lock(LockClass::mutex, key);
  const int64 token = grant(slots, history, sequence, request, first, key, waiter, &written);
  mutex_unlock(LockClass::mutex, key);
  if (!written) {
    close_history(history);
    unlock_sequence(sequence);
    close_slots(&slots);
    return {token, -1};
  }
  close_history_written(history, token);
  close_slots_written(&slots);
  note_touched(key);
  note_durable_change();
  // The same grant asked for again supersedes nothing.
  if (token_in_use(request.name.bytes()) != token)
    end_use(request.name);
  flush_tokens(sequence, token);
  unlock_sequence(sequence);
  return {token, -1};
}

// A name that is free but not to be had yet: the first waiter's for a moment, or a use's or rung's.
constexpr int64 moment_us = 10 * 1000;

int64 wait_for_lease(const AcquireRequest &request, uint64 key, void (*before_look)(), void (*after_look)()) {
  const Patience patience = patience_of(request.wait);
  Waiter waiter;
  join_queue(key, &waiter);
  Try result;
  for (;;) {
    clear_wake();
    before_look();
    result = try_lease(request, key, &waiter);
    after_look();
    if (result.token != 0 || patience.left() == 0)
      break;
    sleep_for_wake(waiter, result.remaining_us == 0 ? moment_us : result.remaining_us, patience);
  }
  leave_queue(waiter, result.token != 0);
  return result.token;
}

void do_nothing() {}

void take_snapshot() { PushActiveSnapshot(GetTransactionSnapshot()); }

void drop_snapshot() {
  PopActiveSnapshot();
  InvalidateCatalogSnapshotConditionally();
}

} // namespace

int64 acquire_lease(const AcquireRequest &request) {
  ensure_identity();
  refuse_own_session_rung(request.name);
  const uint64 key = key_of(request.name);
  const Try first = try_lease(request, key, nullptr);
  if (first.token != 0 || request.wait == 0)
    return first.token;
  refuse_old_snapshot();
  require_free_hands(request.name);
  return wait_for_lease(request, key, do_nothing, do_nothing);
}

int64 acquire_lease_between_transactions(const AcquireRequest &request) {
  ensure_identity();
  refuse_own_session_rung(request.name);
  return wait_for_lease(request, key_of(request.name), take_snapshot, drop_snapshot);
}

bool renew_lease(LeaseName name, int64 token, int64 ttl) {
  ensure_identity();
  require_known_token(token);
  const bool renewed = change_held(name, token, Point::renew_mutexed, [ttl](SlotData *data, const Moment &moment) {
    if (ttl > 0)
      data->ttl = ttl;
    data->deadline = moment.now + data->ttl;
    data->boot = moment.boot;
    data->renewed_at = GetCurrentTimestamp();
  });
  if (renewed)
    note_durable_change();
  return renewed;
}

bool release_lease(LeaseName name, int64 token) {
  begin_release();
  ensure_identity();
  require_known_token(token);
  const bool released = change_held(name, token, Point::release_mutexed, [](SlotData *data, const Moment &moment) {
    data->state = stored::released;
    data->deadline = moment.now;
    data->boot = moment.boot;
  });
  if (released)
    end_release();
  return released;
}

const char *lease_status(LeaseName name, int64 token) {
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  Look found = look(slots, name, lock_slot);
  if (found.row == nullptr && !found.in_flight && !RecoveryInProgress() && !mutant("first_look_believed")) {
    const uint64 key = key_of(name);
    mutex_lock(LockClass::mutex, key);
    found = look(slots, name, lock_slot);
    mutex_unlock(LockClass::mutex, key);
  }
  close_slots(&slots);
  const bool flying = found.in_flight && (found.row == nullptr || slot_data(found.row)->token <= token);
  if (flying)
    return "in_flight";
  if (found.row == nullptr)
    return "unknown";
  const SlotData *data = slot_data(found.row);
  if (data->state == stored::broken && data->prior == token)
    return state_name(State::broken);
  if (data->token > token)
    return state_name(State::superseded);
  if (data->token < token)
    return "unknown";
  return state_name(state_of(*data, this_moment()));
}

int64 break_lease(LeaseName name, int64 token, const char *reason) {
  ensure_identity();
  if (token != 0)
    require_known_token(token);
  Slots slots;
  open_slots(&slots, RowExclusiveLock, false, short_patience_us);
  const Oid sequence = lock_sequence();
  const Relation history = open_history();
  const uint64 key = key_of(name);
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
  }
  mutex_unlock(LockClass::mutex, key);
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
