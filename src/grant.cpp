#include "grant.hpp"

#include "client.hpp"
#include "errors.hpp"
#include "hash.hpp"
#include "history.hpp"
#include "identity.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "rungs.hpp"
#include "token.hpp"

namespace gatepost {

bool has_request(const pg_uuid_t &id) {
  const pg_uuid_t nil{};
  return memcmp(&id, &nil, sizeof id) != 0;
}

[[noreturn]] void refuse_in_flight(LeaseName name, char kind) {
  if (mutant("permits_called_leases"))
    kind = kind::lock;
  ereport(ERROR,
          (errcode(in_flight),
           errmsg("%s \"%s\" is being changed by a transaction that is still open", called(kind), printable(name)),
           errhint("The answer is not known yet; try again%s.", kind == kind::lock     ? " within the lease's time"
                                                                : kind == kind::permit ? " within the permit's time"
                                                                                       : "")));
}

[[noreturn]] void refuse_in_flight(LeaseName name, const Look &found) {
  const HeapTuple row = found.row != nullptr ? found.row : found.flight;
  refuse_in_flight(name, row != nullptr ? slot_data(row)->kind : kind::lock);
}

void require_lock(LeaseName name, const Look &found) {
  if (!is_semaphore(found))
    return;
  ereport(ERROR, (errcode(wrong_kind), errmsg("\"%s\" is a semaphore, not a lease", printable(name))));
}

bool has_request(const AcquireRequest &request) { return has_request(request.request_id); }

bool same_request(const AcquireRequest &request, const SlotData &data) {
  return has_request(request) && memcmp(&data.request_id, &request.request_id, sizeof data.request_id) == 0 &&
         data.role == GetUserId();
}

bool same_request(const AcquireRequest &request, HeapTuple row) {
  return row != nullptr && same_request(request, *slot_data(row));
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
    // Granted, given back or handed on, it may be the request's when that transaction has ended.
    const bool had = found.row != nullptr && same_request(request, found.row) && !mutant("own_returns_unseen") &&
                     state_of(*slot_data(found.row), moment) == State::held;
    if (had || any_flight(found, [&request](const SlotData &flight) { return same_request(request, flight); }))
      refuse_in_flight(request.name);
    return Verdict::busy;
  }
  require_lock(request.name, found);
  if (found.row == nullptr)
    return Verdict::free;
  const State state = state_of(*slot_data(found.row), moment);
  if (state == State::held && same_request(request, found.row))
    return Verdict::same;
  return is_shut(*slot_data(found.row), moment) ? Verdict::busy : Verdict::free;
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
                      false,
                      mutant("yield_outlives_grant") && old != nullptr && slot_data(old)->yield_asked,
                      {}};
  const SlotText texts{request.name, grantee.owner, grantee.client_addr, request.metadata};
  const bool written = old == nullptr ? insert_slot(slots, data, texts) : replace_slot(slots, old, data, texts);
  if (written)
    record_grant(history, data, texts, old, moment);
  return written;
}

int64 draw_above(Oid sequence, HeapTuple row) {
  return draw_above(sequence, row != nullptr ? slot_data(row)->token : 0);
}

int64 draw_above(Oid sequence, int64 floor) {
  // Who has waited may have outlived the extension: the sequence of another begins at 1 until its generation is raised.
  // From its lock on it stays the same.
  if (!mutant("identity_of_the_call_believed"))
    ensure_identity();
  const int64 token = draw_token(sequence);
  if (token > floor || mutant("fallen_sequence_believed"))
    return token;
  raise_generation(floor);
  return draw_token(sequence);
}

bool is_called_elsewhere(HeapTuple row, const Moment &moment, uint64 key, const Waiter *waiter) {
  return row != nullptr && has_just_ended(*slot_data(row), moment) && others_are_first(key, waiter);
}

bool has_just_ended(const SlotData &row, const Moment &moment) {
  constexpr int64 call_us = 10 * 1000;
  const int64 open = open_for_us(row, moment);
  return open >= 0 && open < call_us && !mutant("tries_overtake");
}

bool others_are_first(uint64 key, const Waiter *waiter) {
  return waiter != nullptr ? !is_first(*waiter) : others_wait(key);
}

bool stored_long(HeapTuple row) { return row != nullptr && HeapTupleHasExternal(row); }

} // namespace gatepost
