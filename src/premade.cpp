#include "premade.hpp"

#include "mutant.hpp"
#include "slots.hpp"

namespace gatepost {
namespace {

void drop_slot(void *slot) { ExecDropSingleTupleTableSlot(static_cast<TupleTableSlot *>(slot)); }

} // namespace

void visit_premade(Relation rel, size_t size, PremadeVisit visit, void *context) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TupleTableSlot *slot = table_slot_create(rel, nullptr);
  TableScanDesc scan = table_beginscan_strat(rel, &dirty, 0, nullptr, true, false);
  bool more = true;
  while (more && table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
    const auto *place = reinterpret_cast<BufferHeapTupleTableSlot *>(slot);
    alignas(8) char bytes[longest_premade];
    // Not while it is being overwritten.
    LockBuffer(place->buffer, BUFFER_LOCK_SHARE);
    memcpy(bytes, GETSTRUCT(place->base.tuple), size);
    LockBuffer(place->buffer, BUFFER_LOCK_UNLOCK);
    more = visit(context, &slot->tts_tid, bytes);
  }
  table_endscan(scan);
  ExecDropSingleTupleTableSlot(slot);
}

bool overwrite_premade_bytes(Relation rel, ItemPointer place, const void *bytes, size_t size) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TupleTableSlot *slot = table_slot_create(rel, nullptr);
  // The server would wait for a row lock.
  if (!table_tuple_fetch_row_version(rel, place, &dirty, slot) ||
      locked_elsewhere(reinterpret_cast<BufferHeapTupleTableSlot *>(slot)->base.tuple->t_data)) {
    ExecDropSingleTupleTableSlot(slot);
    return false;
  }
  auto *row = reinterpret_cast<BufferHeapTupleTableSlot *>(slot);
  if (mutant("refusals_rolled_back")) {
    HeapTuple fresh = heap_copytuple(row->base.tuple);
    memcpy(GETSTRUCT(fresh), bytes, size);
    bool index_entries;
    const bool stored = pg::heap_update_nowait(rel, place, fresh, &index_entries) == TM_Ok;
    ExecDropSingleTupleTableSlot(slot);
    CommandCounterIncrement();
    return stored;
  }
  // When somebody has come between, the server lets go of the slot.
  if (!heap_inplace_lock(rel, row->base.tuple, row->buffer, drop_slot, slot))
    return false;
  HeapTuple fresh = heap_copytuple(row->base.tuple);
  memcpy(GETSTRUCT(fresh), bytes, size);
  heap_inplace_update_and_unlock(rel, row->base.tuple, fresh, row->buffer);
  heap_freetuple(fresh);
  ExecDropSingleTupleTableSlot(slot);
  return true;
}

constexpr int room = NAMEDATALEN - 1;
constexpr std::string_view cut_mark = "..";

NameData cut_name(const char *bytes, size_t size) {
  NameData name{};
  if (size <= room) {
    memcpy(NameStr(name), bytes, size);
    return name;
  }
  const int cut = pg_mbcliplen(bytes, static_cast<int>(size), room - static_cast<int>(cut_mark.size()));
  memcpy(NameStr(name), bytes, cut);
  memcpy(NameStr(name) + cut, cut_mark.data(), cut_mark.size());
  return name;
}

std::string_view known_part(const NameData &name, bool *whole) {
  const std::string_view stored(NameStr(name));
  // The last character left out has up to four bytes.
  *whole = stored.size() < room - 3 || !stored.ends_with(cut_mark);
  return *whole ? stored : stored.substr(0, stored.size() - cut_mark.size());
}

} // namespace gatepost
