// Marks: the highest token seen of each resource outside the database. A mark never falls, and while a transaction that
// was told "newest" is open, nobody raises the mark over it.
//
//   token is    answer   tag of the resource, until the (sub)transaction ends   row
//   lower       false    none                                                  untouched
//   equal       true     shared with other equals, waits for a raise           untouched
//   higher      true     alone, waits for equals and raises                    raised
//
// The tag is a lock of the lock manager and not the row's own: who asks with an equal token writes nothing, needs no
// xid and no flush, and many of them do not pile up in multixacts. A row is raised under the tag only, so a look at the
// newest state under it stays true until the transaction ends.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

struct Advance {
  bool accepted;
  int64 mark; // the token, or the later one that it is stale against
};

// Errors: 22023 the resource has another issuer, LG008 the token is of the mark's generation and not of its history,
// 40001 under REPEATABLE READ and SERIALIZABLE when the mark was raised after the snapshot and the token is higher.
Advance advance_mark(LeaseName resource, int64 token, Issuer issuer);

// The mark, newest state. Result: 0 when there is none.
int64 mark_of(LeaseName resource);

// For a row that a dump brings: raises a mark that is there and lower. Result: whether there was none, so that the row
// itself is to be stored.
bool load_mark(LeaseName resource, int64 token, Issuer issuer);

} // namespace gatepost
