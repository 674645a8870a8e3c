// The extension's own relations: found by name, locked without queueing, and checked against the layout this library
// was built for before a row of theirs is read or written directly.
#pragma once

#include "pg.hpp"

namespace gatepost {

// How long a call may wait for relation locks that queued DDL is in the way of.
inline constexpr int64 short_patience_us = 200 * 1000;

// An opened table with its indexes, locked in one mode.
struct OpenTable {
  Relation heap;
  Oid primary_key;
  List *locked; // indexes and, for long values, the toast table; a REINDEX CONCURRENTLY may add an index meanwhile;
                // NIL when it was opened to peek
  LOCKMODE mode;
};
struct Slots : OpenTable {}; // lease_slots
struct Queue : OpenTable {}; // queue

// Opens lease_slots; toast: its toast table too, since the call may store or drop a long value. Result: false when the
// locks were not to be had in time.
bool try_open_slots(Slots *slots, LOCKMODE mode, bool toast, int64 patience_us);

// The same, raising 55P03.
void open_slots(Slots *slots, LOCKMODE mode, bool toast, int64 patience_us);

// For a look that may do without the index: locks the table only. Who needs the index after all locks it.
void open_slots_to_peek(Slots *slots);
void lock_primary_key(const Slots &slots);

// Lets go of what a call that wrote nothing must not keep.
void close_slots(Slots *slots);

// After a write: the table lock stays until the transaction ends, as for any writer.
void close_slots_written(Slots *slots);

// Whether queue is there at all.
bool has_queue();

// The same as for lease_slots.
bool try_open_queue(Queue *queue, LOCKMODE mode, int64 patience_us);
void open_queue(Queue *queue, LOCKMODE mode);
void close_queue(Queue *queue);
void close_queue_written(Queue *queue);

// Locks the token sequence as nextval will, so that nextval cannot queue behind DDL inside a mutex. Result: its oid.
Oid lock_sequence();
void unlock_sequence(Oid sequence);

// Opens the token sequence for a look at its page. Close with close_sequence.
Relation open_sequence();
void close_sequence(Relation sequence);

// Opens identity for a look or an in-place write. Close with close_identity.
Relation open_identity(LOCKMODE mode);
void close_identity(Relation identity, LOCKMODE mode);

// Whether the relation is floor.
bool is_floor(Oid relation);

// Opens floor for a look. Close with close_floor.
Relation open_floor();
void close_floor(Relation floor);

// Opens name_rules for a look or a write. Close with close_rules; after a write in NoLock, as any writer.
Relation open_rules(LOCKMODE mode);
void close_rules(Relation rules, LOCKMODE mode);

// Whether the relation is name_rules.
bool is_rules(Oid relation);

// Tables that are only added to or overwritten in place.
enum class Ledger { refusal_counters, refusal_history, lease_history };

// Opens one; close with table_close. Result: nullptr when its lock was not to be had in time.
Relation try_open_ledger(Ledger ledger, LOCKMODE mode, int64 patience_us);

// The same, raising 55P03.
Relation open_ledger(Ledger ledger, LOCKMODE mode);

// The oid of lease_slots, for rights.
Oid slots_relation();

// Rises whenever one of the relations may have been replaced, or the rules changed: what is remembered is void.
uint64 relations_epoch();

void register_relation_callbacks();

} // namespace gatepost
