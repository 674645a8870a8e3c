// Looking at and writing single rows of queue, past the executor, as slots.hpp does with lease_slots. Rows are inserted
// and deleted by transactions, and prolonged in place; all of it under the name's mutex.
#pragma once

#include "arguments.hpp"
#include "lease_state.hpp"
#include "pg.hpp"
#include "queue_layout.hpp"
#include "relations.hpp"

namespace gatepost {

struct QueueRow {
  HeapTuple tuple; // good until the next one
  bool arriving;   // another open transaction has written it
  bool leaving;    // another open transaction has deleted it

  const QueueData &data() const { return *queue_data(tuple); }
  bool settled() const { return !arriving && !leaving; }
};

// A row counts until its deadline, in the boot that it was written in.
inline bool is_current(const QueueData &data, const Moment &moment) {
  return data.boot == moment.boot && moment.now < data.deadline;
}

// The rows of a key, and of one name, watchers first, then in order of arrival.
struct QueueScan {
  SnapshotData dirty;
  Relation index;
  IndexScanDesc scan;
  TupleTableSlot *slot;
};

void begin_scan(QueueScan *scan, const Queue &queue, uint64 key);
bool next_row(QueueScan *scan, QueueRow *row);
void end_scan(QueueScan *scan);

// Calls visit(const QueueRow &), false: enough, for each row of the key.
template <class Visit> void each_row(const Queue &queue, uint64 key, Visit visit) {
  QueueScan scan;
  begin_scan(&scan, queue, key);
  QueueRow row;
  while (next_row(&scan, &row))
    if (!visit(row))
      break;
  end_scan(&scan);
}

// Whether the key has no row at all, in any state. Only under the name's mutex. Result: false when it takes a scan to
// tell.
bool has_no_row(const Queue &queue, LeaseName name, uint64 key);

// The same as each_row under the name's mutex, where most names have none.
template <class Visit> void each_row_of(const Queue &queue, LeaseName name, uint64 key, Visit visit) {
  if (!has_no_row(queue, name, key))
    each_row(queue, key, visit);
}

// Calls visit(HeapTuple, bool settled) for each row of the table, in no order; newest state, and a miss is possible.
template <class Visit> void each_row_of_all(const Queue &queue, Visit visit) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  TableScanDesc scan = table_beginscan_strat(queue.heap, &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    visit(tuple, !TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax));
  }
  table_endscan(scan);
}

// What a row stores beside the fixed part.
struct QueueText {
  LeaseName name;
  ArrayType *before; // of int8
  text *owner;       // nullptr: NULL
  inet *client_addr; // nullptr: NULL
  Jsonb *metadata;   // nullptr: NULL
};

// In the row's memory.
QueueText queue_text_of(const Queue &queue, HeapTuple tuple);

bool is_of_name(const Queue &queue, HeapTuple tuple, LeaseName name);

void insert_row(const Queue &queue, const QueueData &data, const QueueText &texts);

// Result: false when another session got hold of the row.
bool delete_row(const Queue &queue, HeapTuple tuple);

// Overwrites the deadline in place: no xid, seen by all at once, not rolled back. Result: false when another session
// has the row in flight or locked.
bool prolong_row(const Queue &queue, const QueueData &row, int64 deadline);

// Deletes rows that no longer count, of names with the prefix. Result: whether any.
bool purge_queue(text *prefix);

} // namespace gatepost
