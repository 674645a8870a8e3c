#include "history.hpp"

#include "client.hpp"
#include "ledger_layout.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "premade.hpp"
#include "refusals.hpp"
#include "relations.hpp"
#include "token_layout.hpp"

namespace gatepost {
namespace {

int retention_seconds;

TimestampTz cutoff(int64 older_than) {
  if (mutant("retention_ignored"))
    return DT_NOBEGIN;
  return GetCurrentTimestamp() - (retention_seconds > 0 ? retention_seconds * USECS_PER_SEC : older_than);
}

struct EventText {
  text *name;
  text *owner;       // nullptr: NULL
  inet *client_addr; // nullptr: NULL
  text *detail;      // nullptr: NULL
};

void insert_event(Relation history, const EventData &data, const EventText &texts) {
  const TupleDesc description = RelationGetDescr(history);
  Datum *values = static_cast<Datum *>(palloc0(sizeof(Datum) * description->natts));
  bool *nulls = static_cast<bool *>(palloc(sizeof(bool) * description->natts));
  // Columns past ours have been dropped.
  memset(nulls, true, sizeof(bool) * description->natts);
  const auto set = [&](EventColumn column, Datum value) {
    values[column - 1] = value;
    nulls[column - 1] = false;
  };
  const auto set_optional = [&](EventColumn column, const void *value) {
    values[column - 1] = PointerGetDatum(value);
    nulls[column - 1] = value == nullptr;
  };
  set(event_at, TimestampTzGetDatum(data.at));
  set(event_token, Int64GetDatum(data.token));
  set(event_prior, Int64GetDatum(data.prior));
  set(event_role, ObjectIdGetDatum(data.role));
  set(event_pid, Int32GetDatum(data.pid));
  set(event_event, CharGetDatum(data.event));
  set(event_name, PointerGetDatum(texts.name));
  set_optional(event_owner, texts.owner);
  set_optional(event_client_addr, texts.client_addr);
  set_optional(event_detail, texts.detail);
  HeapTuple tuple = heap_form_tuple(description, values, nulls);
  const int options = mutant("history_of_rolled_back_grant") ? HEAP_INSERT_FROZEN : 0;
  heap_insert(history, tuple, GetCurrentCommandId(true), options, nullptr);
  heap_freetuple(tuple);
}

// Deletes settled rows from before limit in a range of pages, at most so many, passing over what another transaction
// has locked or deletes. Result: whether any.
bool delete_events(Relation history, BlockNumber first, BlockNumber pages, TimestampTz limit, text *prefix,
                   int64 most) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TableScanDesc scan = table_beginscan_strat(history, &dirty, 0, nullptr, true, false);
  if (pages != InvalidBlockNumber)
    heap_setscanlimits(scan, first, pages);
  bool any = false;
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); most > 0 && HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    bool isnull;
    const bool settled = !TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax);
    if (!settled || event_data(tuple)->at >= limit)
      continue;
    const LeaseName name{DatumGetTextPP(heap_getattr(tuple, event_name, RelationGetDescr(history), &isnull))};
    if (prefix != nullptr && !has_prefix(name, prefix))
      continue;
    if (pg::heap_delete_nowait(history, &tuple->t_self) != TM_Ok)
      continue;
    any = true;
    most--;
  }
  table_endscan(scan);
  return any;
}

// One grant in some hundred looks at some pages and deletes what is too old there: more than the grants between fill,
// so the table stays in proportion to what is kept. Its token says which grant, and which pages.
void sweep(Relation history, int64 token) {
  constexpr int64 every = 256;
  constexpr BlockNumber pages = 32;
  constexpr int64 most = 400;
  const int64 draw = token >> nonce_bits;
  const BlockNumber size = RelationGetNumberOfBlocks(history);
  if (draw % every != 0 || size == 0)
    return;
  const BlockNumber windows = (size + pages - 1) / pages;
  const BlockNumber first = static_cast<BlockNumber>(draw / every % windows) * pages;
  delete_events(history, first, Min(pages, size - first), cutoff(0), nullptr, most);
}

void store_address(RefusedData *data) {
  Datum address;
  data->family = '-';
  if (!client_address(&address))
    return;
  inet *value = DatumGetInetPP(address);
  data->family = ip_family(value) == PGSQL_AF_INET ? '4' : '6';
  memcpy(&data->address, ip_addr(value), ip_addrsize(value));
}

void purge_refusals(TimestampTz limit) {
  Relation rel = open_ledger(Ledger::refusal_history, RowExclusiveLock);
  mutex_lock(LockClass::refusals, 0);
  each_premade<RefusedData>(rel, [&](const RefusedData &row, ItemPointer place) {
    if (row.number != 0 && row.at < limit)
      overwrite_premade<RefusedData>(rel, *place, {});
    return true;
  });
  mutex_unlock(LockClass::refusals, 0);
  table_close(rel, RowExclusiveLock);
}

} // namespace

Relation open_history() {
  return retention_seconds > 0 ? open_ledger(Ledger::lease_history, RowExclusiveLock) : nullptr;
}

void close_history(Relation history) {
  if (history != nullptr)
    table_close(history, RowExclusiveLock);
}

void close_history_written(Relation history, int64 token) {
  if (history == nullptr)
    return;
  sweep(history, token);
  table_close(history, NoLock);
}

void record_grant(Relation history, const SlotData &data, const SlotText &texts, HeapTuple old, const Moment &moment) {
  if (history == nullptr)
    return;
  const State before = old == nullptr ? State::released : state_of(*slot_data(old), moment);
  const bool takeover = before == State::lapsed || before == State::superseded;
  insert_event(history,
               {data.acquired_at, data.token, old == nullptr ? 0 : slot_data(old)->token, data.role, data.pid,
                takeover ? event::takeover : event::grant},
               {texts.name.value, texts.owner, texts.client_addr, nullptr});
}

void record_break(Relation history, const Slots &slots, HeapTuple row, int64 token, const char *reason) {
  if (history == nullptr)
    return;
  Datum values[slot_column_count];
  bool nulls[slot_column_count];
  deform_slot(slots, row, values, nulls);
  Datum address;
  const bool has_address = client_address(&address);
  insert_event(
      history, {GetCurrentTimestamp(), token, slot_data(row)->token, GetUserId(), MyProcPid, event::broken},
      {slot_name_of(slots, row).value, nulls[slot_owner - 1] ? nullptr : DatumGetTextPP(values[slot_owner - 1]),
       has_address ? DatumGetInetPP(address) : nullptr, reason != nullptr ? cstring_to_text(reason) : nullptr});
}

void record_refusal(const Refusal &refusal, const NameData &name) {
  if (retention_seconds == 0)
    return;
  Relation rel = try_open_ledger(Ledger::refusal_history, RowExclusiveLock, 0);
  if (rel == nullptr || pg::rewritten_here(rel))
    return;
  int64 oldest = PG_INT64_MAX, newest = 0;
  ItemPointerData place;
  ItemPointerSetInvalid(&place);
  each_premade<RefusedData>(rel, [&](const RefusedData &row, ItemPointer at) {
    newest = Max(newest, row.number);
    if (row.number < oldest) {
      oldest = row.number;
      place = *at;
    }
    return true;
  });
  if (!ItemPointerIsValid(&place))
    return;
  RefusedData data{};
  data.number = newest + 1;
  data.at = GetCurrentTimestamp();
  data.token = refusal.token;
  data.current = refusal.current;
  store_address(&data);
  data.relation = refusal.relation;
  data.role = GetUserId();
  data.pid = MyProcPid;
  data.reason = static_cast<char>(refusal.reason);
  data.name = name;
  if (application_name != nullptr)
    data.application = cut_name(application_name, strlen(application_name));
  overwrite_premade(rel, place, data);
}

void purge_history(int64 older_than, text *prefix) {
  const TimestampTz limit = cutoff(older_than);
  Relation history = open_ledger(Ledger::lease_history, RowExclusiveLock);
  const bool deleted = delete_events(history, 0, InvalidBlockNumber, limit, prefix, PG_INT64_MAX);
  table_close(history, deleted ? NoLock : RowExclusiveLock);
  if (VARSIZE_ANY_EXHDR(prefix) == 0)
    purge_refusals(limit);
}

void register_history() {
  DefineCustomIntVariable("gatepost.history_retention",
                          "How long grants, takeovers, breaks and refused writes are kept.", "0: nothing is kept.",
                          &retention_seconds, 0, 0, INT_MAX / 2, PGC_SUSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
}

} // namespace gatepost
