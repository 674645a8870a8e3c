// SQL doors: refused writes and the history, newest state at every isolation level.
#include "client.hpp"
#include "edge.hpp"
#include "ledger_layout.hpp"
#include "mutant.hpp"
#include "premade.hpp"
#include "refusals.hpp"
#include "relations.hpp"
#include "rights.hpp"
#include "rules.hpp"

using namespace gatepost;

namespace {

// One row of a result, filled from left to right.
template <int columns> struct Row {
  Datum values[columns];
  bool nulls[columns];
  int filled = 0;
  void put(Datum value, bool isnull = false) {
    values[filled] = value;
    nulls[filled++] = isnull;
  }
  void put_text(const char *value, bool isnull) { put(isnull ? Datum{0} : CStringGetTextDatum(value), isnull); }
  // Where 0 stands for none.
  void put_token(int64 token) { put(Int64GetDatum(token), token == 0); }
  void put_oid(Oid oid) { put(ObjectIdGetDatum(oid), !OidIsValid(oid)); }
  void store(FunctionCallInfo fcinfo) {
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
};

using HistoryRow = Row<11>;

bool may_see(const NameData &name) {
  bool whole;
  const std::string_view known = known_part(name, &whole);
  return known.empty() || mutant("refusals_unruled") ||
         (whole ? permitted(known, Action::see) : permitted_all(known, Action::see));
}

bool may_see(Relation history, HeapTuple event) {
  bool isnull;
  const Datum name = heap_getattr(event, event_name, RelationGetDescr(history), &isnull);
  return permitted(LeaseName{DatumGetTextPP(name)}.bytes(), Action::see) || mutant("refusals_unruled");
}

const char *event_title(char event) {
  return event == event::grant ? "grant" : event == event::takeover ? "takeover" : "break";
}

void put_event(FunctionCallInfo fcinfo, Relation rel, HeapTuple tuple) {
  const EventData &data = *event_data(tuple);
  HistoryRow row;
  const auto copy = [&](EventColumn column) {
    bool isnull;
    const Datum value = heap_getattr(tuple, column, RelationGetDescr(rel), &isnull);
    row.put(value, isnull);
  };
  copy(event_at);
  row.put_text(event_title(data.event), false);
  copy(event_name);
  copy(event_token);
  row.put_token(data.prior);
  copy(event_role);
  copy(event_owner);
  copy(event_client_addr);
  copy(event_pid);
  row.put_oid(InvalidOid);
  copy(event_detail);
  row.store(fcinfo);
}

bool stored_address(const RefusedData &data, Datum *address) {
  if (data.family == '-')
    return false;
  inet *value = static_cast<inet *>(palloc0(sizeof(inet)));
  ip_family(value) = data.family == '4' ? PGSQL_AF_INET : PGSQL_AF_INET6;
  ip_bits(value) = ip_maxbits(value);
  memcpy(ip_addr(value), &data.address, ip_addrsize(value));
  SET_INET_VARSIZE(value);
  *address = InetPGetDatum(value);
  return true;
}

void put_refused(FunctionCallInfo fcinfo, const RefusedData &data) {
  Datum address{0};
  const bool has_address = stored_address(data, &address);
  HistoryRow row;
  row.put(TimestampTzGetDatum(data.at));
  row.put_text("refusal", false);
  row.put_text(NameStr(data.name), NameStr(data.name)[0] == '\0');
  row.put_token(data.token);
  row.put_token(0);
  row.put_oid(data.role);
  row.put(PointerGetDatum(client_label(NameStr(data.application), address, has_address, data.pid)));
  row.put(address, !has_address);
  row.put(Int32GetDatum(data.pid));
  row.put_oid(data.relation);
  const char *reason = refusal_reason_name(data.reason);
  row.put_text(data.current == 0 ? reason
                                 : psprintf("%s, current token %lld", reason, static_cast<long long>(data.current)),
               false);
  row.store(fcinfo);
}

} // namespace

GATEPOST_FUNCTION(refusal_rows) {
  PreventCommandIfParallelMode("refusal_rows()");
  count_pending_refusals();
  InitMaterializedSRF(fcinfo, 0);
  refresh_rules();
  Relation rel = open_ledger(Ledger::refusal_counters, AccessShareLock);
  each_premade<CounterData>(rel, [&](const CounterData &data, ItemPointer) {
    if (data.count == 0 || !may_see(data.name))
      return true;
    Row<5> row;
    row.put_oid(data.relation);
    row.put_text(NameStr(data.name), data.key == 0);
    row.put_text(refusal_reason_name(data.reason), false);
    row.put(Int64GetDatum(data.count));
    row.put(TimestampTzGetDatum(data.last_at));
    row.store(fcinfo);
    return true;
  });
  table_close(rel, AccessShareLock);
  return Datum{0};
}

GATEPOST_FUNCTION(refusals_reset) {
  require_changing("refusals_reset()");
  require_administrator("refusals_reset()");
  PG_RETURN_INT64(reset_refusals());
}

// The tables are not changed but by inserts and deletes of whole rows, so a dirty scan shows each row once, and no
// serializable grant conflicts with the reader.
GATEPOST_FUNCTION(history_rows) {
  PreventCommandIfParallelMode("history_rows()");
  InitMaterializedSRF(fcinfo, 0);
  refresh_rules();
  Relation rel = open_ledger(Ledger::lease_history, AccessShareLock);
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TableScanDesc scan = table_beginscan_strat(rel, &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    if (!TransactionIdIsValid(dirty.xmin) && may_see(rel, tuple))
      put_event(fcinfo, rel, tuple);
  }
  table_endscan(scan);
  table_close(rel, AccessShareLock);

  rel = open_ledger(Ledger::refusal_history, AccessShareLock);
  each_premade<RefusedData>(rel, [&](const RefusedData &data, ItemPointer) {
    if (data.number != 0 && may_see(data.name))
      put_refused(fcinfo, data);
    return true;
  });
  table_close(rel, AccessShareLock);
  return Datum{0};
}
