#include "slots.hpp"

#include "absence.hpp"
#include "known_names.hpp"
#include "mutant.hpp"
#include "testpoint.hpp"

#include <utility>

namespace gatepost {
namespace {

// Entries in every index: a REINDEX CONCURRENTLY has two of them for a while.
void insert_index_entries(const Slots &slots, HeapTuple tuple) {
  List *indexes = RelationGetIndexList(slots.heap);
  if (indexes == NIL)
    return;
  TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(slots.heap), &TTSOpsHeapTuple);
  ExecStoreHeapTuple(tuple, slot, false);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), RowExclusiveLock);
    IndexInfo *info = BuildIndexInfo(index);
    // Verified when the table was opened; one that has come since would need the executor.
    if (info->ii_Expressions != NIL || info->ii_Predicate != NIL || info->ii_ExclusionOps != nullptr)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("index \"%s\" of relation gatepost.lease_slots is not a plain one",
                             RelationGetRelationName(index))));
    if (info->ii_ReadyForInserts) {
      Datum values[INDEX_MAX_KEYS];
      bool nulls[INDEX_MAX_KEYS];
      FormIndexDatum(info, slot, nullptr, values, nulls);
      index_insert(index, values, nulls, &tuple->t_self, slots.heap,
                   index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, false, info);
    }
    index_close(index, RowExclusiveLock);
  }
  ExecDropSingleTupleTableSlot(slot);
  list_free(indexes);
}

// Without the CommandCounterIncrement.
bool write_version(const Slots &slots, ItemPointerData old, HeapTuple fresh) {
  bool index_entries;
  if (pg::heap_update_nowait(slots.heap, &old, fresh, &index_entries) != TM_Ok)
    return false;
  if (index_entries)
    insert_index_entries(slots, fresh);
  return true;
}

bool store_version(const Slots &slots, HeapTuple old, HeapTuple fresh) {
  if (!write_version(slots, old->t_self, fresh))
    return false;
  // The next change of this row may come in the same statement.
  CommandCounterIncrement();
  return true;
}

HeapTuple form_slot(const Slots &slots, const SlotData &data, const SlotText &texts) {
  const TupleDesc description = RelationGetDescr(slots.heap);
  Datum *values = static_cast<Datum *>(palloc0(sizeof(Datum) * description->natts));
  bool *nulls = static_cast<bool *>(palloc(sizeof(bool) * description->natts));
  // Columns past ours have been dropped.
  memset(nulls, true, sizeof(bool) * description->natts);
  const auto set = [&](SlotColumn column, Datum value) {
    values[column - 1] = value;
    nulls[column - 1] = false;
  };
  const auto set_optional = [&](SlotColumn column, const void *value) {
    values[column - 1] = PointerGetDatum(value);
    nulls[column - 1] = value == nullptr;
  };
  set(slot_token, Int64GetDatum(data.token));
  set(slot_prior, Int64GetDatum(data.prior));
  set(slot_deadline, Int64GetDatum(data.deadline));
  set(slot_ttl, Int64GetDatum(data.ttl));
  set(slot_boot, Int64GetDatum(data.boot));
  set(slot_acquired_at, TimestampTzGetDatum(data.acquired_at));
  set(slot_renewed_at, TimestampTzGetDatum(data.renewed_at));
  set(slot_role, ObjectIdGetDatum(data.role));
  set(slot_pid, Int32GetDatum(data.pid));
  set(slot_slot, Int32GetDatum(data.slot));
  set(slot_weight, Int32GetDatum(data.weight));
  set(slot_request_id, UUIDPGetDatum(&data.request_id));
  set(slot_kind, CharGetDatum(data.kind));
  set(slot_state, CharGetDatum(data.state));
  set(slot_superseded, BoolGetDatum(data.superseded));
  set(slot_yield_asked, BoolGetDatum(data.yield_asked));
  set(slot_yield_reason, NameGetDatum(&data.yield_reason));
  set(slot_name, PointerGetDatum(texts.name.value));
  set_optional(slot_owner, texts.owner);
  set_optional(slot_client_addr, texts.client_addr);
  set_optional(slot_metadata, texts.metadata);
  return heap_form_tuple(description, values, nulls);
}

// Overwrites the settled row in place. Change: (SlotData *).
template <class Change> void overwrite(const Slots &slots, LeaseName name, int32 slot, Change change) {
  for (;;) {
    SlotReader reader;
    open_reader(&reader, slots);
    aim(&reader, name, slot, Reach::only);
    if (next_version(&reader) == nullptr)
      elog(ERROR, "a row of lease_slots vanished under its mutex");
    auto *place = reinterpret_cast<BufferHeapTupleTableSlot *>(reader.slot);
    // When the server has to wait for somebody it ends the scan, and the row is looked up again.
    const auto end = [](void *reader) { close_reader(static_cast<SlotReader *>(reader)); };
    if (!heap_inplace_lock(slots.heap, place->base.tuple, place->buffer, end, &reader))
      continue;
    HeapTuple marked = heap_copytuple(place->base.tuple);
    change(slot_data(marked));
    heap_inplace_update_and_unlock(slots.heap, place->base.tuple, marked, place->buffer);
    close_reader(&reader);
    heap_freetuple(marked);
    return;
  }
}

void open_index(SlotReader *reader) {
  if (reader->index != nullptr)
    return;
  if (reader->slots->locked == NIL)
    lock_primary_key(*reader->slots);
  reader->index = index_open(reader->slots->primary_key, NoLock);
}

void open_scan(SlotReader *reader) {
  open_index(reader);
  if (reader->scan != nullptr)
    return;
  const MemoryContext outer = MemoryContextSwitchTo(reader->memory);
  const Relation heap = reader->slots->heap;
  reader->scan =
      pg::index_beginscan(heap, reader->index, mutant("snapshot_lookups") ? GetLatestSnapshot() : &reader->dirty, 2);
  reader->slot = table_slot_create(heap, nullptr);
  MemoryContextSwitchTo(outer);
}

bool is_row_of(const Slots &slots, HeapTuple row, LeaseName name, int32 slot) {
  return slot_data(row)->slot == slot && slot_name_of(slots, row).bytes() == name.bytes();
}

// Looks where the row of slot 0 was last found. Result: false when it is not there, settled: only the index can tell
// why. True is good, since a name and slot have one settled version, wherever it is.
bool look_at(SlotReader *reader, ItemPointerData place, LeaseName name, Look *found) {
  const Slots &slots = *reader->slots;
  if (!pg::has_block(slots.heap, ItemPointerGetBlockNumber(&place)) && !mutant("places_past_the_end"))
    return false;
  const Buffer buffer = ReadBuffer(slots.heap, ItemPointerGetBlockNumber(&place));
  // As an index's look would: without it the page fills up with old versions.
  if (!mutant("place_unpruned"))
    heap_page_prune_opt(slots.heap, buffer);
  LockBuffer(buffer, BUFFER_LOCK_SHARE);
  HeapTupleData version;
  reader->dirty.xmin = reader->dirty.xmax = InvalidTransactionId;
  HeapTuple row = nullptr;
  if (heap_hot_search_buffer(&place, slots.heap, buffer, &reader->dirty, &version, nullptr, true) &&
      (!(TransactionIdIsValid(reader->dirty.xmin) || TransactionIdIsValid(reader->dirty.xmax)) ||
       mutant("flight_at_place_ignored")))
    row = heap_copytuple(&version);
  UnlockReleaseBuffer(buffer);
  // Another row may have come to the place since.
  if (row == nullptr || !(is_row_of(slots, row, name, 0) || mutant("strangers_at_place_believed")))
    return false;
  found->row = row;
  found->own_change = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
  found->in_flight = locked_elsewhere(row->t_data) && !mutant("row_locks_ignored");
  return true;
}

// Looks at slot 0 without a scan. Result: false when it takes one.
bool look_without_scan(SlotReader *reader, LeaseName name, Look *found) {
  if (mutant("snapshot_lookups"))
    return false;
  KnownName *known = known_name(name);
  if (known == nullptr)
    return false;
  if (ItemPointerIsValid(&known->place)) {
    at(Point::look_started);
    return look_at(reader, known->place, name, found);
  }
  open_index(reader);
  return has_no_entry(reader->index, PointerGetDatum(name.value), &known->rows);
}

// Of a version that an open transaction has written or taken away: whether it is deleted, with no other in its stead.
bool is_deleted(HeapTuple tuple) {
  const HeapTupleHeader header = tuple->t_data;
  if (header->t_infomask & HEAP_XMAX_INVALID || HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
    return false;
  return ItemPointerEquals(&header->t_ctid, &tuple->t_self) &&
         !TransactionIdDidAbort(HeapTupleHeaderGetUpdateXid(header)) && !mutant("deletions_overlooked");
}

void note_place(LeaseName name, ItemPointerData place) {
  if (KnownName *known = known_name(name))
    known->place = place;
}

} // namespace

void open_reader(SlotReader *reader, const Slots &slots) {
  reader->slots = &slots;
  InitDirtySnapshot(reader->dirty);
  reader->index = nullptr;
  reader->scan = nullptr;
  reader->memory = CurrentMemoryContext;
}

void close_reader(SlotReader *reader) {
  if (reader->scan != nullptr) {
    ExecDropSingleTupleTableSlot(reader->slot);
    index_endscan(reader->scan);
  }
  if (reader->index != nullptr)
    index_close(reader->index, reader->slots->locked == NIL ? AccessShareLock : NoLock);
}

void aim(SlotReader *reader, LeaseName name, int32 slot, Reach reach) {
  constexpr AttrNumber index_name = 1;
  constexpr AttrNumber index_slot = 2;
  ScanKeyData keys[2];
  ScanKeyInit(&keys[0], index_name, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(name.value));
  keys[0].sk_collation = C_COLLATION_OID;
  const bool only = reach == Reach::only;
  ScanKeyInit(&keys[1], index_slot, only ? BTEqualStrategyNumber : BTGreaterEqualStrategyNumber,
              only ? F_INT4EQ : F_INT4GE, Int32GetDatum(slot));
  open_scan(reader);
  reader->dirty.xmin = reader->dirty.xmax = InvalidTransactionId;
  index_rescan(reader->scan, keys, 2, nullptr, 0);
  reader->more = reader->ended = false;
}

HeapTuple next_version(SlotReader *reader) {
  const MemoryContext outer = MemoryContextSwitchTo(reader->memory);
  HeapTuple tuple = nullptr;
  while (tuple == nullptr && !reader->ended) {
    if (!reader->more) {
      const ItemPointer head = index_getnext_tid(reader->scan, ForwardScanDirection);
      reader->ended = head == nullptr;
      if (reader->ended)
        break;
      reader->head = *head;
      at(Point::look_started);
    }
    const bool found = index_fetch_heap(reader->scan, reader->slot);
    reader->more = found && reader->scan->xs_heap_continue;
    if (found)
      tuple = ExecFetchSlotHeapTuple(reader->slot, false, nullptr);
  }
  MemoryContextSwitchTo(outer);
  return tuple;
}

bool locked_elsewhere(HeapTupleHeader header) {
  if (header->t_infomask & HEAP_XMAX_INVALID || !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask))
    return false;
  const TransactionId locker = HeapTupleHeaderGetRawXmax(header);
  if (header->t_infomask & HEAP_XMAX_IS_MULTI)
    return MultiXactIdIsRunning(locker, true);
  return !TransactionIdIsCurrentTransactionId(locker) && TransactionIdIsInProgress(locker);
}

bool outranks(const SlotData &version, const SlotData &other) {
  if (mutant("last_version_counts"))
    return true;
  if (version.token != other.token)
    return version.token > other.token;
  if (version.state != other.state)
    return version.state == stored::held;
  return version.weight <= other.weight;
}

Look look(const Slots &slots, LeaseName name, int32 slot) {
  SlotReader reader;
  open_reader(&reader, slots);
  const Look found = look(&reader, name, slot);
  close_reader(&reader);
  return found;
}

Look look(SlotReader *reader, LeaseName name, int32 slot) {
  Look found{};
  if (slot == 0 && look_without_scan(reader, name, &found))
    return found;
  // The slots of a name come in order, so a look at slot 0 may as well meet the next one.
  aim(reader, name, slot, slot == 0 ? Reach::onward : Reach::only);
  while (HeapTuple tuple = next_version(reader)) {
    if (slot_data(tuple)->slot != slot) {
      found.permits = true;
      break;
    }
    if (TransactionIdIsValid(reader->dirty.xmin)) {
      found.in_flight = true;
      found.writer = reader->dirty.xmin;
      found.going |= is_deleted(tuple);
      HeapTuple other = heap_copytuple(tuple);
      if (found.flight == nullptr || outranks(*slot_data(other), *slot_data(found.flight)))
        std::swap(other, found.flight);
      if (other != nullptr && !mutant("outranked_flights_forgotten"))
        found.outranked = lappend(found.outranked, other);
      continue;
    }
    if (TransactionIdIsValid(reader->dirty.xmax)) {
      found.in_flight = true;
      found.writer = reader->dirty.xmax;
      found.going |= is_deleted(tuple);
    } else if (locked_elsewhere(tuple->t_data) && !mutant("row_locks_ignored")) {
      found.in_flight = true;
    }
    found.own_change = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
    found.row = heap_copytuple(tuple);
    if (slot == 0)
      note_place(name, reader->head);
  }
  // A page that is pinned here cannot be pruned by the write that follows.
  ExecClearTuple(reader->slot);
  return found;
}

List *slots_of_name(const Slots &slots, LeaseName name) {
  List *numbers = NIL;
  SlotReader reader;
  open_reader(&reader, slots);
  aim(&reader, name, 0, Reach::onward);
  while (HeapTuple tuple = next_version(&reader))
    numbers = list_append_unique_int(numbers, slot_data(tuple)->slot);
  close_reader(&reader);
  return numbers;
}

bool look_again(const Slots &slots, Look *found) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  dirty.xmin = dirty.xmax = InvalidTransactionId;
  TupleTableSlot *slot = table_slot_create(slots.heap, nullptr);
  const bool settled = table_tuple_fetch_row_version(slots.heap, &found->row->t_self, &dirty, slot) &&
                       !TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax);
  if (settled)
    found->row = ExecCopySlotHeapTuple(slot);
  ExecDropSingleTupleTableSlot(slot);
  return settled;
}

LeaseName slot_name_of(const Slots &slots, HeapTuple row) {
  bool isnull;
  return {DatumGetTextPP(heap_getattr(row, slot_name, RelationGetDescr(slots.heap), &isnull))};
}

void deform_slot(const Slots &slots, HeapTuple row, Datum *values, bool *nulls) {
  const TupleDesc description = RelationGetDescr(slots.heap);
  for (int i = 0; i < slot_column_count; i++)
    values[i] = heap_getattr(row, i + 1, description, &nulls[i]);
}

bool insert_slot(const Slots &slots, const SlotData &data, const SlotText &texts) {
  HeapTuple fresh = form_slot(slots, data, texts);
  heap_insert(slots.heap, fresh, GetCurrentCommandId(true), 0, nullptr);
  insert_index_entries(slots, fresh);
  CommandCounterIncrement();
  heap_freetuple(fresh);
  return true;
}

bool replace_slot(const Slots &slots, HeapTuple old, const SlotData &data, const SlotText &texts) {
  HeapTuple fresh = form_slot(slots, data, texts);
  const bool stored = store_version(slots, old, fresh);
  heap_freetuple(fresh);
  return stored;
}

bool update_slot(const Slots &slots, HeapTuple old, const SlotData &data) {
  HeapTuple fresh = heap_copytuple(old);
  memcpy(slot_data(fresh), &data, slot_data_bytes);
  const bool stored = store_version(slots, old, fresh);
  heap_freetuple(fresh);
  return stored;
}

bool update_found(const Slots &slots, HeapTuple found) { return write_version(slots, found->t_self, found); }

bool delete_slot(const Slots &slots, HeapTuple old) {
  if (pg::heap_delete_nowait(slots.heap, &old->t_self) != TM_Ok)
    return false;
  CommandCounterIncrement();
  return true;
}

void mark_superseded(const Slots &slots, LeaseName name, int32 slot) {
  overwrite(slots, name, slot, [](SlotData *row) { row->superseded = true; });
}

void mark_yield(const Slots &slots, LeaseName name, int32 slot, const NameData &reason) {
  overwrite(slots, name, slot, [&reason](SlotData *row) {
    row->yield_asked = true;
    row->yield_reason = reason;
  });
}

} // namespace gatepost
