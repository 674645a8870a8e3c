#include "queue.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "late_calls.hpp"
#include "locks.hpp"
#include "mutant.hpp"

namespace gatepost {
namespace {

bool is_request(const QueueData &data, const pg_uuid_t &request_id) {
  return !is_watcher(data) && memcmp(&data.request_id, &request_id, sizeof request_id) == 0;
}

bool is_own_request(const QueueData &data, const pg_uuid_t &request_id) {
  return is_request(data, request_id) && (data.role == GetUserId() || mutant("places_of_other_roles"));
}

// A session that waits inside, as it is stored. Rows outlive the server's process, and transactions are numbered anew
// by the next one, or after a crash: without its process and the server's start another session could pass for it.
int64 insider_of(VirtualTransactionId id) {
  const PGPROC *process = pg::process_of(id);
  const auto pid = static_cast<uint64>(process != nullptr ? process->pid : 0);
  const auto transaction = static_cast<uint64>(pg::packed(id));
  if (mutant("insiders_outlive_restarts"))
    return static_cast<int64>(transaction);
  return static_cast<int64>(mixed(mixed(mixed(static_cast<uint64>(PgStartTime)) ^ pid) ^ transaction));
}

// How long others hold back for who is called outside.
constexpr int64 outside_us = 50 * 1000;

// The sessions that wait inside now, to be stored. What does not fit into a row beside all else is left out.
ArrayType *insiders(uint64 key) {
  constexpr int most = 500;
  int count;
  const VirtualTransactionId *queue = queue_of(key, &count);
  count = mutant("insiders_forgotten") ? 0 : Min(count, most);
  Datum *values = static_cast<Datum *>(palloc(sizeof(Datum) * Max(count, 1)));
  for (int i = 0; i < count; i++)
    values[i] = Int64GetDatum(insider_of(queue[i]));
  return construct_array(values, count, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE);
}

bool lists(const ArrayType *before, VirtualTransactionId id) {
  const int64 *values = reinterpret_cast<const int64 *>(ARR_DATA_PTR(before));
  const int count = ArrayGetNItems(ARR_NDIM(before), ARR_DIMS(before));
  const int64 sought = count > 0 ? insider_of(id) : 0;
  for (int i = 0; i < count; i++)
    if (values[i] == sought)
      return true;
  return false;
}

// Whether a session that was there before the row came still waits inside.
bool insider_stands_before(const ArrayType *before, uint64 key) {
  int count;
  const VirtualTransactionId *queue = queue_of(key, &count);
  for (int i = 0; i < count; i++)
    if (lists(before, queue[i]))
      return true;
  return false;
}

// The first row that waits for the name, copied.
HeapTuple head_of(const Queue &queue, LeaseName name, uint64 key, const Moment &moment) {
  HeapTuple head = nullptr;
  each_row_of(queue, name, key, [&](const QueueRow &row) {
    if (!is_watcher(row.data()) && row.settled() && is_current(row.data(), moment) &&
        is_of_name(queue, row.tuple, name))
      head = heap_copytuple(row.tuple);
    return head == nullptr;
  });
  return head;
}

// Whether somebody outside is to be told: a watcher, who comes first, or the first in the queue when nobody inside
// stands before him. Who is in flight counts, since nobody tells him later. By key, as the channel is. Each: (visit).
template <class Each> bool calls_any(const Queue &queue, uint64 key, Each each) {
  const Moment moment = this_moment();
  bool called = false;
  each([&](const QueueRow &row) {
    if (!is_current(row.data(), moment) || (!row.settled() && mutant("arriving_places_uncalled")))
      return true;
    called = is_watcher(row.data()) || !insider_stands_before(queue_text_of(queue, row.tuple).before, key);
    return false;
  });
  return called;
}

[[noreturn]] void refuse_request() {
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for this request_id"),
                  errdetail("Another role has queued it.")));
}

// What the queue holds of a request.
struct OwnPlace {
  HeapTuple row; // that counts; nullptr: none
  int64 highest; // arrival of any row of the key
  List *dead;    // rows of the name that no longer count
};

OwnPlace own_place(const Queue &queue, LeaseName name, uint64 key, const pg_uuid_t &request_id, const Moment &moment) {
  OwnPlace place{};
  each_row_of(queue, name, key, [&](const QueueRow &row) {
    const QueueData &data = row.data();
    place.highest = Max(place.highest, data.arrival);
    if (is_watcher(data) || !is_of_name(queue, row.tuple, name))
      return true;
    if (!is_current(data, moment)) {
      if (row.settled())
        place.dead = lappend(place.dead, heap_copytuple(row.tuple));
      return true;
    }
    if (!is_request(data, request_id))
      return true;
    if (!is_own_request(data, request_id))
      refuse_request();
    if (!row.settled())
      refuse_in_flight(name);
    place.row = heap_copytuple(row.tuple);
    return true;
  });
  return place;
}

void delete_all(const Queue &queue, List *rows) {
  ListCell *cell;
  foreach (cell, rows)
    delete_row(queue, static_cast<HeapTuple>(lfirst(cell)));
}

// Whether whoever asks first can have the name.
bool is_free(const Slots &slots, LeaseName name) {
  const Look found = look(slots, name, lock_slot);
  return !found.in_flight && (found.row == nullptr || !is_shut(*slot_data(found.row), this_moment()));
}

} // namespace

void queue_request(const AcquireRequest &request, int64 stay) {
  ensure_identity();
  const uint64 key = key_of(request.name);
  Slots slots;
  Queue queue;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  open_queue(&queue, RowExclusiveLock);
  bool written = false;
  mutex_lock(LockClass::mutex, key);
  const Look found = look(slots, request.name, lock_slot);
  require_lock(request.name, found);
  const Moment moment = this_moment();
  const bool served = !found.in_flight && found.row != nullptr && same_request(request, found.row) &&
                      is_live(state_of(*slot_data(found.row), moment));
  if (!served) {
    const OwnPlace place = own_place(queue, request.name, key, request.request_id, moment);
    if (place.row != nullptr && !mutant("places_lost")) {
      if (!prolong_row(queue, *queue_data(place.row), moment.now + stay))
        refuse_in_flight(request.name);
    } else {
      if (place.row != nullptr)
        delete_row(queue, place.row);
      delete_all(queue, place.dead);
      const Grantee caller = caller_of(request);
      insert_row(queue,
                 {static_cast<int64>(key), Max(moment.now, place.highest + 1), moment.now + stay, moment.boot,
                  request.ttl, GetCurrentTimestamp(), caller.role, caller.pid, request.request_id},
                 {request.name, insiders(key), caller.owner, caller.client_addr, request.metadata});
      written = true;
    }
  }
  mutex_unlock(LockClass::mutex, key);
  if (written)
    note_place();
  written ? close_queue_written(&queue) : close_queue(&queue);
  close_slots(&slots);
}

bool unqueue_request(LeaseName name, const pg_uuid_t &request_id) {
  ensure_identity();
  const uint64 key = key_of(name);
  Slots slots;
  Queue queue;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  open_queue(&queue, RowExclusiveLock);
  OutsideCall call{name, key, queue, true, true, false};
  bool left = false;
  mutex_lock(LockClass::mutex, key);
  const HeapTuple row = find_place(queue, name, key, request_id, this_moment());
  if (row != nullptr && is_own_request(*queue_data(row), request_id)) {
    if (!delete_row(queue, row))
      refuse_in_flight(name);
    left = true;
    // It may have been called already.
    if (is_free(slots, name) && !mutant("leavers_call_nobody"))
      look_outside(&call);
  }
  mutex_unlock(LockClass::mutex, key);
  if (call.called)
    notify_outside(key);
  if (left) {
    note_place();
    note_touched(key);
  }
  left ? close_queue_written(&queue) : close_queue(&queue);
  close_slots(&slots);
  return left;
}

int64 turn_of_another(const Queue &queue, const AcquireRequest &request, uint64 key, const Waiter *waiter,
                      HeapTuple row, const Moment &moment) {
  constexpr int64 inside_us = 10 * 1000;
  if (row == nullptr)
    return 0;
  const SlotData &data = *slot_data(row);
  const int64 free_us = open_for_us(data, moment);
  if (free_us < 0 || free_us >= outside_us)
    return 0;
  const HeapTuple head = mutant("outsiders_overtaken") ? nullptr : head_of(queue, request.name, key, moment);
  if (head != nullptr) {
    const ArrayType *before = queue_text_of(queue, head).before;
    const bool outside_first = !insider_stands_before(before, key);
    if (is_own_request(*queue_data(head), request.request_id)) {
      if (outside_first)
        return 0;
    } else if (outside_first && !(waiter != nullptr && lists(before, pg::my_transaction())) &&
               (data.state != stored::held || mutant("lapsed_held_back"))) {
      return outside_us - free_us;
    }
  }
  return is_called_elsewhere(row, moment, key, waiter) ? inside_us : 0;
}

bool is_turn_of_any(const Queue &queue, uint64 key, const SlotData &row, const Moment &moment) {
  const int64 free_us = open_for_us(row, moment);
  return free_us >= 0 && free_us < outside_us && (others_wait(key) || calls_outside(queue, key)) &&
         !mutant("turns_purged");
}

void delete_place(const Queue &queue, const AcquireRequest &request, uint64 key) {
  if (!has_request(request.request_id) || mutant("places_kept"))
    return;
  List *rows = NIL;
  each_row_of(queue, request.name, key, [&](const QueueRow &row) {
    if (row.settled() && is_own_request(row.data(), request.request_id) && is_of_name(queue, row.tuple, request.name))
      rows = lappend(rows, heap_copytuple(row.tuple));
    return true;
  });
  delete_all(queue, rows);
}

HeapTuple find_place(const Queue &queue, LeaseName name, uint64 key, const pg_uuid_t &request_id,
                     const Moment &moment) {
  HeapTuple found = nullptr;
  each_row_of(queue, name, key, [&](const QueueRow &row) {
    if (row.settled() && is_request(row.data(), request_id) &&
        (is_current(row.data(), moment) || mutant("dead_places_count")) && is_of_name(queue, row.tuple, name))
      found = heap_copytuple(row.tuple);
    return found == nullptr;
  });
  return found;
}

void open_call(OutsideCall *call, LeaseName name, uint64 key, bool wanted) {
  *call = {name, key, {}, wanted, false, false};
  call->open = wanted && try_open_queue(&call->queue, AccessShareLock, 0);
}

bool calls_outside(const Queue &queue, uint64 key) {
  return calls_any(queue, key, [&](auto visit) { each_row(queue, key, visit); });
}

void look_outside(OutsideCall *call) {
  if (!call->wanted || (!call->open && mutant("unlooked_forgotten")))
    return;
  if (call->open)
    call->called = calls_any(call->queue, call->key,
                             [call](auto visit) { each_row_of(call->queue, call->name, call->key, visit); });
  if (call->open && mutant("everybody_notified"))
    call->called = true;
  note_freed(call->key, call->name, call->open, call->called);
}

void close_call(OutsideCall *call) {
  if (!call->open)
    return;
  close_queue(&call->queue);
  if (call->called)
    notify_outside(call->key);
}

const char *channel_of(uint64 key) { return psprintf("gatepost_%016llx", static_cast<unsigned long long>(key)); }

void notify_outside(uint64 key) {
  if (!mutant("nobody_notified"))
    Async_Notify(channel_of(key), "");
}

int whole_queue(const Queue &queue, uint64 key, Waiting **waiting) {
  int count;
  const VirtualTransactionId *inside = queue_of(key, &count);
  const Moment moment = this_moment();
  List *outside = NIL;
  each_row(queue, key, [&](const QueueRow &row) {
    if (!is_watcher(row.data()) && row.settled() && is_current(row.data(), moment))
      outside = lappend(outside, heap_copytuple(row.tuple));
    return true;
  });
  *waiting = static_cast<Waiting *>(palloc(sizeof(Waiting) * (count + list_length(outside) + 1)));
  int total = 0;
  int next = 0;
  const auto put_inside = [&] {
    if (const PGPROC *process = pg::process_of(inside[next++]))
      (*waiting)[total++] = {process->pid, nullptr};
  };
  ListCell *cell;
  foreach (cell, outside) {
    const auto tuple = static_cast<HeapTuple>(lfirst(cell));
    const ArrayType *before = queue_text_of(queue, tuple).before;
    while (next < count && lists(before, inside[next]))
      put_inside();
    (*waiting)[total++] = {0, tuple};
  }
  while (next < count)
    put_inside();
  return total;
}

} // namespace gatepost
