// SQL doors: what the views show, newest state at every isolation level.
#include "edge.hpp"
#include "lease_state.hpp"
#include "mutant.hpp"
#include "relations.hpp"
#include "rules.hpp"
#include "slots.hpp"
#include "token_layout.hpp"

using namespace gatepost;

namespace {

struct Output {
  const Slots &slots;
  ReturnSetInfo *result;
  Moment moment;
  bool authoritative;
};

Datum interval_of(int64 microseconds) {
  Interval *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
  interval->time = microseconds;
  return IntervalPGetDatum(interval);
}

const char *kind_name(char kind) {
  return kind == kind::lock ? "lease" : kind == kind::permit ? "permit" : "semaphore";
}

void put_row(const Output &output, HeapTuple tuple, bool in_flight) {
  if (!permitted(slot_name_of(output.slots, tuple).bytes(), Action::see))
    return;
  constexpr int columns = 20;
  Datum row[slot_column_count];
  bool row_nulls[slot_column_count];
  deform_slot(output.slots, tuple, row, row_nulls);
  const SlotData &data = *slot_data(tuple);
  const int64 remaining = remaining_us(data, output.moment);
  const char *state = in_flight ? "in_flight" : state_name(state_of(data, output.moment));

  Datum values[columns];
  bool nulls[columns] = {};
  int column = 0;
  const auto put = [&](Datum value, bool isnull = false) {
    values[column] = value;
    nulls[column++] = isnull;
  };
  const auto copy = [&](SlotColumn from) { put(row[from - 1], row_nulls[from - 1]); };
  copy(slot_name);
  copy(slot_slot);
  put(CStringGetTextDatum(kind_name(data.kind)));
  copy(slot_weight);
  put(CStringGetTextDatum(state));
  copy(slot_token);
  put(Int32GetDatum(static_cast<int32>(generation_of(data.token))));
  copy(slot_owner);
  copy(slot_role);
  copy(slot_client_addr);
  copy(slot_pid);
  copy(slot_acquired_at);
  copy(slot_renewed_at);
  // The wall clock of the grant or renewal plus the ttl: every session reads the same instant.
  put(TimestampTzGetDatum(data.renewed_at + data.ttl));
  put(interval_of(remaining));
  put(interval_of(data.ttl));
  copy(slot_metadata);
  const bool asked = data.yield_asked && remaining > 0;
  put(BoolGetDatum(asked));
  const bool reason = asked && NameStr(data.yield_reason)[0] != '\0';
  put(reason ? CStringGetTextDatum(NameStr(data.yield_reason)) : Datum{0}, !reason);
  put(BoolGetDatum(output.authoritative));
  tuplestore_putvalues(output.result->setResult, output.result->setDesc, values, nulls);
}

// Whether another open transaction has changed this version or holds it. For versions that an MVCC snapshot shows.
bool changed_elsewhere(HeapTupleHeader header) {
  if (header->t_infomask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
    return false;
  const TransactionId xmax = HeapTupleHeaderGetUpdateXid(header);
  return TransactionIdIsValid(xmax) && !TransactionIdIsCurrentTransactionId(xmax) && TransactionIdIsInProgress(xmax);
}

void scan_newest(const Output &output) {
  const Snapshot snapshot = RegisterSnapshot(mutant("view_by_snapshot") ? GetActiveSnapshot() : GetLatestSnapshot());
  TableScanDesc scan = table_beginscan_strat(output.slots.heap, snapshot, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    if (slot_data(tuple)->kind != kind::semaphore)
      put_row(output, tuple, changed_elsewhere(tuple->t_data));
  }
  table_endscan(scan);
  UnregisterSnapshot(snapshot);
}

// A snapshot taken now would put predicate locks on our table and so bring serialization failures to lease calls.
// A dirty scan does not; it shows a changed row twice, so only versions that are settled or about to be replaced count,
// and a row that moves meanwhile can be missing.
void scan_serializable(const Output &output) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TableScanDesc scan = table_beginscan_strat(output.slots.heap, &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    if (!TransactionIdIsValid(dirty.xmin) && slot_data(tuple)->kind != kind::semaphore)
      put_row(output, tuple, TransactionIdIsValid(dirty.xmax));
  }
  table_endscan(scan);
}

} // namespace

GATEPOST_FUNCTION(lease_rows) {
  PreventCommandIfParallelMode("lease_rows()");
  InitMaterializedSRF(fcinfo, 0);
  refresh_rules();
  Slots slots;
  open_slots(&slots, AccessShareLock, false, short_patience_us);
  const Output output{slots, reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo), this_moment(),
                      !RecoveryInProgress()};
  if (IsolationIsSerializable() && !mutant("view_locks_predicates"))
    scan_serializable(output);
  else
    scan_newest(output);
  close_slots(&slots);
  return Datum{0};
}
