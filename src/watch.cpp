#include "watch.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue_rows.hpp"

namespace gatepost {
namespace {

struct Watcher {
  HeapTuple row; // of the role, also one that no longer counts
  int64 lowest;  // arrival of any row of the key, 0 or less
};

Watcher own_watcher(const Queue &queue, LeaseName name, uint64 key) {
  Watcher watcher{};
  each_row_of(queue, name, key, [&](const QueueRow &row) {
    const QueueData &data = row.data();
    if (!is_watcher(data))
      return false;
    watcher.lowest = Min(watcher.lowest, data.arrival);
    if (data.role != GetUserId() || !is_of_name(queue, row.tuple, name))
      return true;
    if (!row.settled())
      refuse_in_flight(name);
    watcher.row = heap_copytuple(row.tuple);
    return true;
  });
  return watcher;
}

} // namespace

void watch_name(LeaseName name) {
  ensure_identity();
  const uint64 key = key_of(name);
  Queue queue;
  open_queue(&queue, RowExclusiveLock);
  mutex_lock(LockClass::mutex, key);
  const Watcher watcher = own_watcher(queue, name, key);
  const Moment moment = this_moment();
  const int64 deadline = moment.now + (mutant("watches_for_ever") ? USECS_PER_DAY : watch_us);
  const bool watches = watcher.row != nullptr && is_current(*queue_data(watcher.row), moment);
  if (watches) {
    if (!prolong_row(queue, *queue_data(watcher.row), deadline))
      refuse_in_flight(name);
  } else {
    if (watcher.row != nullptr && !delete_row(queue, watcher.row))
      refuse_in_flight(name);
    const Grantee caller = caller_of({name, 0, nullptr, nullptr, {}, 0});
    insert_row(queue,
               {static_cast<int64>(key),
                Min(-moment.now, watcher.lowest - 1),
                deadline,
                moment.boot,
                0,
                GetCurrentTimestamp(),
                caller.role,
                caller.pid,
                {}},
               {name, construct_empty_array(INT8OID), caller.owner, caller.client_addr, nullptr});
  }
  mutex_unlock(LockClass::mutex, key);
  if (!watches)
    note_place();
  watches ? close_queue(&queue) : close_queue_written(&queue);
}

bool unwatch_name(LeaseName name) {
  ensure_identity();
  const uint64 key = key_of(name);
  Queue queue;
  open_queue(&queue, RowExclusiveLock);
  mutex_lock(LockClass::mutex, key);
  const Watcher watcher = own_watcher(queue, name, key);
  const bool deleted = watcher.row != nullptr && delete_row(queue, watcher.row);
  const bool watched = deleted && is_current(*queue_data(watcher.row), this_moment());
  mutex_unlock(LockClass::mutex, key);
  if (deleted)
    note_place();
  deleted ? close_queue_written(&queue) : close_queue(&queue);
  return watched;
}

} // namespace gatepost
