// Refused writes: counted for each table, name and reason, told to the server's log, and kept in the history. A refusal
// is an error and rolls its transaction back; what is done here stays.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// The letters are stored.
enum class RefusalReason : char {
  stale_token = 's',
  lease_not_held = 'h',
  token_required = 'r',
  unknown_token = 'u',
  token_of_other_lease = 'o',
};

struct Refusal {
  Oid relation;          // InvalidOid: none
  const LeaseName *name; // nullptr: none
  int64 token;           // that was refused, 0: none
  int64 current;         // that it was compared with, 0: none
  RefusalReason reason;
};

// Call right before the ereport(ERROR) of a refusal, inside a transaction. Neither fails nor waits (it tries for its
// mutex for some milliseconds): what cannot be counted now is counted with this session's next refusal or look at the
// counters. Nothing happens on a standby or in a parallel worker.
void count_refusal(const Refusal &refusal);

// Counts what this session still has to count. Neither fails nor waits, as count_refusal.
void count_pending_refusals();

// All counters back to 0, not undone by ROLLBACK. Result: how many were not. Raises 55P03.
int64 reset_refusals();

// "stale_token" and so on; "others" for the row that counts the rest.
const char *refusal_reason_name(char reason);

void register_refusals();

} // namespace gatepost
