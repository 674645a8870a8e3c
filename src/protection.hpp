// Which tables are protected and how: reading the fence triggers that are there, and making those that are missing.
#pragma once

#include "fence_arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// The triggers of one protected relation. The statement trigger is on every relation of a tree of partitions or
// children, since TRUNCATE and direct writes name any of them; it is also what marks a relation as protected. The row
// trigger is where rows are looked at: always by template and by column; by lease only where a row can come through the
// statement of a table above that is not protected alike, which fires no statement trigger here.
//
// The server clones the row trigger of a partitioned table for its partitions, under the same name. So that name ends
// in the table's oid: a table that is protected itself, partitioned or not, can be attached.
inline constexpr const char *statement_trigger = "zz_gatepost_fence";
inline constexpr const char *row_trigger = "zz_gatepost_fence_row";
inline constexpr const char *cloned_row_trigger = "zz_gatepost_fence_rows_%u";

struct FenceTrigger {
  Oid oid;
  Oid relation;
  const char *name;
  bool for_rows;
  bool cloned; // made by the server for a partition
  char enabled;
  int16 type; // its events, of TRIGGER_TYPE_..
  FenceArguments arguments;
  int count; // of arguments, as they are stored
  char **stored;
};

// The fence triggers of a relation, a list of FenceTrigger pointers.
List *fence_triggers_of(Oid relation);

// Every relation with a fence trigger of its own; a list of oids.
List *protected_relations();

// The relation and all below it, parents first; a list of oids. Partitions whose detaching has begun are among them, since
// older snapshots still see them there. lock: taken on each but the first.
List *tree_of(Oid root, LOCKMODE lock = NoLock);

// The relations right above, a list of oids.
List *parents_of(Oid relation);

bool needs_row_trigger(Oid relation, const FenceTrigger &like);

// Whether it has the events and the moment that fence_protect gives it: somebody may have made one by hand.
bool is_whole(const FenceTrigger &trigger);

// Out of such a list; nullptr when there is none.
const FenceTrigger *statement_trigger_of(List *triggers);
// The statement trigger, or when that is missing what is there of the protection.
const FenceTrigger *protection_of(List *triggers);
const FenceTrigger *row_trigger_like(List *triggers, const FenceTrigger &like);

bool same_arguments(const FenceTrigger &a, const FenceTrigger &b);

} // namespace gatepost
