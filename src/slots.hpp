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
  HeapTuple row;        // the settled version (own changes included), nullptr when there is none
  HeapTuple flight;     // the version that another open transaction has written, nullptr when none
  bool in_flight;       // another open transaction has changed or deleted the row, or locks it
  bool own_change;      // this transaction has written the row
  TransactionId writer; // the other transaction, where it is known
  bool permits;         // looking at slot 0: another slot of the name has a row
};

Look look(const Slots &slots, LeaseName name, int32 slot);

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
// Marks a settled, lapsed row superseded, in place: no xid, seen by all at once, never rolled back. That takes only the
// lapsed holder's grace. The name's mutex must be held.
void mark_superseded(const Slots &slots, LeaseName name, int32 slot);

bool delete_slot(const Slots &slots, HeapTuple old);

} // namespace gatepost
