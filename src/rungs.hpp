// What this session holds on the advisory rung: for the rules about own locks, and for the view advisory_locks. The
// lock manager knows the locks; it tells a session neither their names nor their scope.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

enum class RungScope { transaction, session };

struct Rung {
  uint64 key;
  bool shared;
  RungScope scope;
  int64 count;
  const char *name; // not ended by a zero byte
  int name_size;
};

// Makes room for one more, so that nothing can fail between taking the lock and noting it.
void reserve_rung(uint64 key, LeaseName name, bool shared, RungScope scope);

// Takes the room back when the lock was not to be had.
void unreserve_rung(uint64 key, bool shared, RungScope scope);

// Notes what reserve_rung made room for. Cannot fail.
void note_rung(uint64 key, bool shared, RungScope scope);

// Notes that one session lock is gone. Result: false when none was known.
bool forget_session_rung(uint64 key, bool shared);

// Notes a lock that the top transaction keeps, whatever subtransaction rolls back; room as by reserve_rung.
void note_kept_rung();

// Whether the session scope holds the name; what pg_advisory_unlock_all or DISCARD ALL took away does not count.
bool holds_session_rung(uint64 key);

// Whether any session lock may be held: a cheap look before the others.
bool any_session_rung();

// Whether this transaction or session holds any.
bool holds_transaction_rungs();
bool holds_session_rungs();

// A list of Rung pointers, in the current memory context.
List *known_rungs();

void register_rung_callbacks();

} // namespace gatepost
