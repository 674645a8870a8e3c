// Durability is decided at commit, by what the transaction did: what a caller asked for earlier can be undone by SET,
// by a function's SET clause or by ROLLBACK TO before then.
#pragma once

#include "pg.hpp"

namespace gatepost {

// A grant, renewal or break, a raised mark, a claim: its commit waits for disk, or for the level asked for.
void note_durable_change();

// A release: begin_release before it writes, end_release after. When a single statement outside a transaction block
// logs nothing else, its commit is asynchronous: a lost release costs waiting, no more.
void begin_release();
void end_release();

// A purge, a holder tag kept by a rung or a use, a place in the queue: the transaction cannot be prepared.
void note_purge();
void note_holder_tag();
void note_place();

// A mark outside the database that this transaction keeps from being raised: it cannot be prepared either.
void note_mark_kept();
bool mark_kept_in_transaction();

// What this transaction has done so far: changed any lease; purged any.
bool changed_in_transaction();
bool purged_in_transaction();

// Whether commits of this session are to wait for a standby, as the settings are now.
bool standby_asked();

// gatepost.durability and gatepost.durability_floor; callbacks of transactions.
void register_durability();

} // namespace gatepost
