// Looking at and writing single rows of lease_slots, past the executor: no snapshot of the caller's is asked, so no
// isolation level brings 40001, and what another session has in flight is seen and answered at once.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"
#include "relations.hpp"
#include "slot_layout.hpp"

namespace gatepost {

// What one look found for a name and slot. "Not found" counts only when the name's mutex is held: without it a renewal
// that moves the row can hide it.
struct Look {
  HeapTuple row;    // the settled version (own changes included), nullptr when there is none
  HeapTuple flight; // the version that another open transaction has written, nullptr when none; of several see outranks
  List *outranked;  // the others, HeapTuples
  bool in_flight;   // another open transaction has changed or deleted the row, or locks it
  bool going;       // another open transaction deletes the row, or what it has written itself
  bool own_change;  // this transaction has written the row
  TransactionId writer; // the other transaction, where it is known
  bool permits;         // looking at slot 0: another slot of the name has a row
};

Look look(const Slots &slots, LeaseName name, int32 slot);

// Whether any version in flight passes. Test: (const SlotData &).
template <class Test> bool any_flight(const Look &found, Test test) {
  if (found.flight == nullptr || test(*slot_data(found.flight)))
    return found.flight != nullptr;
  ListCell *cell;
  foreach (cell, found.outranked)
    if (test(*slot_data(static_cast<HeapTuple>(lfirst(cell)))))
      return true;
  return false;
}

// Which of two versions in flight counts. They come in no order, and a rollback to a savepoint brings back any of them:
// so it is the latest grant, of that the version that holds it, and of limits the lowest.
bool outranks(const SlotData &version, const SlotData &other);

// For looks at many rows: index and scan are opened once, by the first look that needs them. Must not move while open.
struct SlotReader {
  const Slots *slots;
  SnapshotData dirty;   // after each version: who has it in flight
  Relation index;       // nullptr: no look has needed it yet
  IndexScanDesc scan;   // the same
  ItemPointerData head; // of the chain of versions that the scan is at
  TupleTableSlot *slot;
  bool more;            // of the same chain
  bool ended;           // asked once more, an index would begin anew
  MemoryContext memory; // the scan keeps what it allocates on its way
};

void open_reader(SlotReader *reader, const Slots &slots);
Look look(SlotReader *reader, LeaseName name, int32 slot);
void close_reader(SlotReader *reader);

// Begins a scan of the versions of one slot, or of that and all above it in ascending order.
enum class Reach { only, onward };
void aim(SlotReader *reader, LeaseName name, int32 slot, Reach reach);

// nullptr at the end. The tuple is good until the next call.
HeapTuple next_version(SlotReader *reader);

// The numbers of the name's slots that have a row, settled or in flight.
List *slots_of_name(const Slots &slots, LeaseName name);

// Whether another session holds a lock on the row: it shows in no dirty snapshot, and writing would wait for it.
bool locked_elsewhere(HeapTupleHeader header);

// Looks once more at the version that a look has found, without the index. Result: false when it is no longer there,
// settled: only a whole look can tell why.
bool look_again(const Slots &slots, Look *found);

// What a grant stores beside the fixed part.
struct SlotText {
  LeaseName name;
  text *owner;       // nullptr: NULL
  inet *client_addr; // nullptr: NULL
  Jsonb *metadata;   // nullptr: NULL
};

// The name of a row, in the row's memory.
LeaseName slot_name_of(const Slots &slots, HeapTuple row);

// The role, metadata and so on of a row for the view: values and nulls of slot_column_count columns.
void deform_slot(const Slots &slots, HeapTuple row, Datum *values, bool *nulls);

// Writers. The name's mutex must be held and slots opened in RowExclusiveLock. Result: false when another session got
// hold of the row after the look (a row lock), which counts as in flight.
bool insert_slot(const Slots &slots, const SlotData &data, const SlotText &texts);
bool replace_slot(const Slots &slots, HeapTuple old, const SlotData &data, const SlotText &texts);
bool update_slot(const Slots &slots, HeapTuple old, const SlotData &data);

// The same for many rows, each once: writes what the caller has changed in the copy that a look gave. One
// CommandCounterIncrement is owed after all of them.
bool update_found(const Slots &slots, HeapTuple found);

// Marks a settled, lapsed row superseded, in place: no xid, seen by all at once, never rolled back. That takes only the
// lapsed holder's grace. The name's mutex must be held.
void mark_superseded(const Slots &slots, LeaseName name, int32 slot);

// Marks a settled row as asked for, in place as well: the holder's transactions are not in its way, nor it in theirs.
// The name's mutex must be held.
void mark_yield(const Slots &slots, LeaseName name, int32 slot, const NameData &reason);

bool delete_slot(const Slots &slots, HeapTuple old);

} // namespace gatepost
