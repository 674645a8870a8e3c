#include "lease_transfer.hpp"

#include "durability.hpp"
#include "grant.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue.hpp"
#include "rights.hpp"
#include "rules.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"

namespace gatepost {
namespace {

struct Opened {
  Slots slots;
  Oid sequence;
  Relation history;
  Queue queue;
};

// Who has queued the request, and whether he may hold the name. Asked before the mutex, since the answer may need the
// server's catalogs.
struct Receiver {
  Oid role;
  bool permitted;
};

Receiver receiver_of(const Queue &queue, LeaseName name, uint64 key, const pg_uuid_t &request_id) {
  const HeapTuple place = find_place(queue, name, key, request_id, this_moment());
  if (place == nullptr)
    return {InvalidOid, false};
  const Oid role = queue_data(place)->role;
  return {role, permitted_to(role, name.bytes(), Action::hold) || mutant("receivers_unruled")};
}

[[noreturn]] void refuse_receiver(LeaseName name) {
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for name \"%s\"", printable(name)),
                  errdetail("The rules do not let the role that has queued the request hold it.")));
}

// His place, under the mutex; nullptr: there was none when he was asked for.
HeapTuple place_of(const Receiver &receiver, const Queue &queue, LeaseName name, uint64 key,
                   const pg_uuid_t &request_id) {
  const HeapTuple place = find_place(queue, name, key, request_id, this_moment());
  if (place == nullptr || queue_data(place)->role != receiver.role)
    return nullptr;
  if (!receiver.permitted)
    refuse_receiver(name);
  return place;
}

// The row of the lease if the token is that of the live holder, and his.
HeapTuple held_row(LeaseName name, const Look &found, int64 token) {
  if (found.in_flight)
    refuse_in_flight(name, found);
  require_lock(name, found);
  if (found.row == nullptr || (slot_data(found.row)->token != token && !mutant("tokens_untransferred")))
    return nullptr;
  require_member(*slot_data(found.row), name);
  return is_live(state_of(*slot_data(found.row), this_moment())) ? found.row : nullptr;
}

// Writes the grant over row under the holder tag. Result: the token; 0 when the tag is another's.
int64 grant_to(const Opened &opened, LeaseName name, uint64 key, HeapTuple row, HeapTuple place) {
  const bool tagged = holder_try(key);
  if (!tagged && !mutant("transfers_beside_uses"))
    return 0;
  at(Point::transfer_tagged);
  const QueueData &data = *queue_data(place);
  const QueueText texts = queue_text_of(opened.queue, place);
  const AcquireRequest request{name, data.ttl, texts.owner, texts.metadata, data.request_id, 0};
  const int64 token = mutant("transfer_keeps_token") ? slot_data(row)->token : draw_above(opened.sequence, row);
  if (!write_grant_to({data.role, data.pid, texts.owner, texts.client_addr}, opened.slots, opened.history, request,
                      whole_lease, row, token))
    refuse_in_flight(name);
  at(Point::transfer_written);
  if (!delete_row(opened.queue, place))
    refuse_in_flight(name);
  if (tagged)
    holder_release(key);
  return token;
}

} // namespace

int64 transfer_lease(LeaseName name, int64 token, const pg_uuid_t &request_id) {
  ensure_identity();
  require_known_token(token);
  refuse_own_session_rung(name);
  const uint64 key = key_of(name);
  Opened opened;
  open_slots(&opened.slots, RowExclusiveLock, true, short_patience_us);
  opened.sequence = lock_sequence();
  opened.history = open_history();
  open_queue(&opened.queue, RowExclusiveLock);
  const Receiver receiver = receiver_of(opened.queue, name, key, request_id);
  // Before the row is written, so that no error comes in between.
  note_touched(key);
  mutex_lock(LockClass::mutex, key);
  const HeapTuple row = held_row(name, look(opened.slots, name, lock_slot), token);
  const HeapTuple place = row == nullptr ? nullptr : place_of(receiver, opened.queue, name, key, request_id);
  const int64 granted = place == nullptr ? 0 : grant_to(opened, name, key, row, place);
  mutex_unlock(LockClass::mutex, key);
  if (granted == 0) {
    close_queue(&opened.queue);
    close_history(opened.history);
    unlock_sequence(opened.sequence);
    close_slots(&opened.slots);
    return 0;
  }
  close_queue_written(&opened.queue);
  close_history_written(opened.history, granted);
  close_slots_written(&opened.slots);
  if (!mutant("transfers_unflushed"))
    note_durable_change();
  end_use(name);
  if (!mutant("transferred_tokens_unflushed"))
    flush_tokens(opened.sequence, granted);
  unlock_sequence(opened.sequence);
  notify_outside(key);
  return granted;
}

} // namespace gatepost
