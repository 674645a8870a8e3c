#include "grant.hpp"

#include "client.hpp"
#include "errors.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "mutant.hpp"
#include "rungs.hpp"
#include "token.hpp"

namespace gatepost {

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

bool same_request(const AcquireRequest &request, HeapTuple row) {
  if (row == nullptr || !has_request(request.request_id))
    return false;
  const SlotData *data = slot_data(row);
  return memcmp(&data->request_id, &request.request_id, sizeof data->request_id) == 0 && data->role == GetUserId();
}

void refuse_own_session_rung(LeaseName name) {
  if (!any_session_rung() || !holds_session_rung(key_of(name)) || mutant("own_rung_ignored"))
    return;
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_IN_USE), errmsg("this session holds the advisory lock \"%s\"", printable(name)),
           errhint("Take the transaction's lock and the lease in one transaction to climb from one to the "
                   "other.")));
}

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

Grantee caller_of(const AcquireRequest &request) {
  Datum address;
  const bool has_address = client_address(&address);
  return {GetUserId(), MyProcPid,
          request.owner != nullptr ? request.owner : client_label(application_name, address, has_address, MyProcPid),
          has_address ? DatumGetInetPP(address) : nullptr};
}

bool write_grant(const Slots &slots, Relation history, const AcquireRequest &request, const Granted &granted,
                 HeapTuple old, int64 token) {
  return write_grant_to(caller_of(request), slots, history, request, granted, old, token);
}

bool write_grant_to(const Grantee &grantee, const Slots &slots, Relation history, const AcquireRequest &request,
                    const Granted &granted, HeapTuple old, int64 token) {
  const Moment moment = this_moment();
  const TimestampTz now = GetCurrentTimestamp();
  const SlotData data{token,
                      0,
                      moment.now + request.ttl,
                      request.ttl,
                      moment.boot,
                      now,
                      now,
                      grantee.role,
                      grantee.pid,
                      granted.slot,
                      granted.weight,
                      request.request_id,
                      granted.kind,
                      stored::held,
                      false};
  const SlotText texts{request.name, grantee.owner, grantee.client_addr, request.metadata};
  const bool written = old == nullptr ? insert_slot(slots, data, texts) : replace_slot(slots, old, data, texts);
  if (written)
    record_grant(history, data, texts, old, moment);
  return written;
}

int64 draw_above(Oid sequence, HeapTuple row) {
  const int64 token = draw_token(sequence);
  if (row == nullptr || token > slot_data(row)->token || mutant("fallen_sequence_believed"))
    return token;
  raise_generation(slot_data(row)->token);
  return draw_token(sequence);
}

bool is_called_elsewhere(HeapTuple row, const Moment &moment, uint64 key, const Waiter *waiter) {
  constexpr int64 call_us = 10 * 1000;
  if (row == nullptr || mutant("tries_overtake"))
    return false;
  const SlotData &data = *slot_data(row);
  if (data.boot != moment.boot || moment.now - data.deadline >= call_us || moment.now < data.deadline)
    return false;
  return waiter != nullptr ? !is_first(*waiter) : others_wait(key);
}

bool stored_long(HeapTuple row) { return row != nullptr && HeapTupleHasExternal(row); }

} // namespace gatepost
