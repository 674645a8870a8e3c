// The history, while gatepost.history_retention is not 0: grants, takeovers and breaks as rows of the transaction that
// makes them, refused writes in a ring of rows that no rollback takes back.
#pragma once

#include "arguments.hpp"
#include "lease_state.hpp"
#include "pg.hpp"
#include "slots.hpp"

namespace gatepost {

struct Refusal;

// Opens the table that grants and breaks go to; before the mutex, since it may wait for DDL as all do. Result: nullptr
// while there is no history, which the others take. Raises 55P03.
Relation open_history();

void close_history(Relation history);

// After a row was written; now and then deletes some old ones.
void close_history_written(Relation history, int64 token);

// old: the row of the name before, or nullptr; moment: when it was judged.
void record_grant(Relation history, const SlotData &data, const SlotText &texts, HeapTuple old, const Moment &moment);

// row: of the lease that was broken; token: what the break returns; reason: nullptr for none.
void record_break(Relation history, const Slots &slots, HeapTuple row, int64 token, const char *reason);

// The mutex of refusals must be held. Waits for no lock: without it the refusal is not kept.
void record_refusal(const Refusal &refusal, const NameData &name);

// Deletes what is older than gatepost.history_retention; while that is 0, what is older than older_than microseconds.
// Refusals only with an empty prefix.
void purge_history(int64 older_than, text *prefix);

void register_history();

} // namespace gatepost
