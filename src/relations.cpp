#include "relations.hpp"

#include "ledger_layout.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "queue_layout.hpp"
#include "slot_layout.hpp"
#include "token_layout.hpp"

namespace gatepost {
namespace {

enum Known {
  slots_known,
  identity_known,
  sequence_known,
  floor_known,
  rules_known,
  refusal_counters_known,
  refusal_history_known,
  lease_history_known,
  queue_known,
  known_count
};

constexpr const char *known_names[known_count] = {"lease_slots",     "identity",      "token_sequence",
                                                  "floor",           "name_rules",    "refusal_counters",
                                                  "refusal_history", "lease_history", "queue"};

struct Remembered {
  Oid oid;
  bool verified;
};

Remembered remembered[known_count];
uint64 epoch = 1;
// Rises with news of any sequence's shape.
uint64 shape_news;

// Runs inside invalidation processing: touches plain memory only.
void forget_relation(Datum, Oid relid) {
  if (mutant("stale_oids"))
    return;
  for (auto &relation : remembered)
    if (relid == InvalidOid || relid == relation.oid) {
      relation = {};
      epoch++;
    }
}

void forget_sequence_shape(Datum, int, uint32) {
  remembered[sequence_known].verified = false;
  shape_news++;
}

Oid found_oid(Known known) {
  const Oid schema = get_namespace_oid("gatepost", true);
  return OidIsValid(schema) ? get_relname_relid(known_names[known], schema) : InvalidOid;
}

Oid oid_of(Known known) {
  auto &relation = remembered[known];
  if (OidIsValid(relation.oid))
    return relation.oid;
  const Oid oid = found_oid(known);
  if (!OidIsValid(oid))
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("relation gatepost.%s does not exist", known_names[known]),
             errhint("Is the extension gatepost installed in this database?")));
  relation.oid = oid;
  return oid;
}

[[noreturn]] void refuse_layout(const char *relation, const char *detail) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("relation gatepost.%s is not as this version of the library made it", relation),
                  errdetail("%s", detail), errhint("Undo the change, or run ALTER EXTENSION gatepost UPDATE.")));
}

void verify_columns(Relation rel, const char *name, const Column *columns, int count) {
  const TupleDesc description = RelationGetDescr(rel);
  // A column that was added and dropped again leaves its place.
  for (int i = count; i < description->natts; i++)
    if (!TupleDescAttr(description, i)->attisdropped)
      refuse_layout(name, psprintf("It has one column more: %s.", NameStr(TupleDescAttr(description, i)->attname)));
  if (description->natts < count)
    refuse_layout(name, psprintf("It has %d columns where %d are expected.", description->natts, count));
  for (int i = 0; i < count; i++) {
    const Form_pg_attribute attribute = TupleDescAttr(description, i);
    if (attribute->attisdropped || attribute->atttypid != columns[i].type ||
        strcmp(NameStr(attribute->attname), columns[i].name) != 0 || (columns[i].required && !attribute->attnotnull))
      refuse_layout(name, psprintf("Column %d is not %s.", i + 1, columns[i].name));
  }
  if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relam != HEAP_TABLE_AM_OID)
    refuse_layout(name, "It is not an ordinary heap table.");
  if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
    refuse_layout(name, "It is not logged.");
}

// Rows are looked up by bytes, in an index of that order.
void verify_collation(Relation rel) {
  if (TupleDescAttr(RelationGetDescr(rel), slot_name - 1)->attcollation != C_COLLATION_OID)
    refuse_layout("lease_slots", "Column name is not of collation \"C\".");
}

// Verifies a relation unless it has been verified as it is now. Looking takes in news of changes; then it is looked at
// again. Result: what check says.
template <class Check> bool verify(Known known, Check check) {
  while (!remembered[known].verified && !mutant("layout_unverified")) {
    const uint64 before = epoch + shape_news;
    if (!check())
      return false;
    if (epoch + shape_news == before)
      remembered[known].verified = true;
    // Gone altogether: the next look by name will find out.
    if (!OidIsValid(remembered[known].oid))
      oid_of(known);
  }
  return true;
}

bool on_primary_key_columns(const Form_pg_index form) {
  return form->indnkeyatts == 2 && form->indkey.values[0] == slot_name && form->indkey.values[1] == slot_slot;
}

// Why an index cannot be kept up by direct writes; nullptr: it can. The executor alone knows how to feed an expression
// index or to judge a predicate.
const char *unfit(Relation index) {
  if (index->rd_rel->relam != BTREE_AM_OID)
    return "is not a btree index";
  if (RelationGetIndexExpressions(index) != NIL)
    return "is on expressions";
  if (RelationGetIndexPredicate(index) != NIL)
    return "is partial";
  if (index->rd_index->indisexclusion)
    return "is of an exclusion constraint";
  return nullptr;
}

// The same for lease_slots: a unique check on other columns would wait for strangers inside a mutex. A second index on
// the key's columns is there during REINDEX CONCURRENTLY.
const char *unfit_for_slots(Relation index) {
  if (const char *reason = unfit(index))
    return reason;
  const Form_pg_index form = index->rd_index;
  if (on_primary_key_columns(form) && index->rd_indcollation[0] != C_COLLATION_OID)
    return "is not of collation \"C\"";
  if (form->indisunique && !on_primary_key_columns(form))
    return "is unique on other columns than the primary key";
  for (int i = 0; i < form->indnatts; i++)
    if (form->indkey.values[i] >= slot_superseded && form->indkey.values[i] <= slot_yield_reason &&
        !mutant("overwritten_columns_indexed"))
      return "is on a column that is overwritten in place";
  return nullptr;
}

// The same for queue: rows are looked up by (key, arrival), and the deadline is overwritten in place.
const char *unfit_for_queue(Relation index) {
  if (const char *reason = unfit(index))
    return reason;
  const Form_pg_index form = index->rd_index;
  const bool on_key =
      form->indnkeyatts == 2 && form->indkey.values[0] == queue_key && form->indkey.values[1] == queue_arrival;
  if (form->indisprimary && !on_key)
    return "is the primary key on other columns than key and arrival";
  if (form->indisunique && !on_key)
    return "is unique on other columns than the primary key";
  for (int i = 0; i < form->indnatts; i++)
    if (form->indkey.values[i] == queue_deadline)
      return "is on column deadline, which is overwritten in place";
  return nullptr;
}

// Result: false when an index could not be locked in time.
bool verify_indexes(Relation rel, const char *name, const char *(*objection)(Relation), int64 patience_us) {
  if (!OidIsValid(pg::primary_key_index(rel)))
    refuse_layout(name, "It has no primary key.");
  List *indexes = RelationGetIndexList(rel);
  ListCell *cell;
  foreach (cell, indexes) {
    if (!relation_lock_within(lfirst_oid(cell), AccessShareLock, patience_us))
      return false;
    Relation index = index_open(lfirst_oid(cell), NoLock);
    const char *reason = objection(index);
    const char *detail = reason == nullptr ? nullptr : psprintf("Index %s %s.", RelationGetRelationName(index), reason);
    index_close(index, AccessShareLock);
    if (detail != nullptr)
      refuse_layout(name, detail);
  }
  list_free(indexes);
  return true;
}

// Result: as verify_indexes says.
bool verify_slots(Relation rel, int64 patience_us) {
  verify_columns(rel, "lease_slots", slot_columns, slot_column_count);
  verify_collation(rel);
  return verify_indexes(rel, "lease_slots", unfit_for_slots, patience_us);
}

void verify_sequence(Oid oid) {
  HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(oid));
  if (!HeapTupleIsValid(tuple))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("relation gatepost.token_sequence does not exist")));
  const auto form = reinterpret_cast<Form_pg_sequence>(GETSTRUCT(tuple));
  const bool right = form->seqtypid == INT8OID && form->seqincrement == token_step && form->seqcache == 1 &&
                     !form->seqcycle && form->seqmax == max_token && form->seqmin == 1;
  ReleaseSysCache(tuple);
  if (!right)
    refuse_layout("token_sequence", "Its increment, cache, cycle or bounds have been changed.");
  if (get_rel_persistence(oid) != RELPERSISTENCE_PERMANENT)
    refuse_layout("token_sequence", "It is not logged.");
}

[[noreturn]] void refuse_lock(const char *relation) {
  ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                  errmsg("could not lock relation gatepost.%s without waiting for DDL", relation),
                  errhint("A command such as REINDEX, VACUUM FULL or ALTER holds or waits for a lock on it; "
                          "REINDEX CONCURRENTLY does not.")));
}

// Locks the relation and makes sure that it is still the one of that name.
bool lock_known(Known known, LOCKMODE mode, int64 patience_us, Oid *oid) {
  for (;;) {
    *oid = oid_of(known);
    if (!relation_lock_within(*oid, mode, patience_us))
      return false;
    if (remembered[known].oid == *oid)
      return true;
    UnlockRelationOid(*oid, mode);
  }
}

// Locks them all. Result: false, and none is locked, when one was not to be had in time.
bool lock_all(List *relations, LOCKMODE mode, int64 patience_us) {
  for (int i = 0; i < list_length(relations); i++) {
    const Oid relation = list_nth_oid(relations, i);
    if (mutant("index_locks_queue"))
      LockRelationOid(relation, mode);
    if (mutant("index_locks_queue") || relation_lock_within(relation, mode, patience_us))
      continue;
    while (--i >= 0)
      UnlockRelationOid(list_nth_oid(relations, i), mode);
    return false;
  }
  return true;
}

void unlock_all(List *relations, LOCKMODE mode) {
  ListCell *cell;
  foreach (cell, relations)
    UnlockRelationOid(lfirst_oid(cell), mode);
}

// Locks the toast table and its indexes, which storing and dropping long values opens, and adds them to the list.
bool lock_toast(Relation rel, List **locked, int64 patience_us) {
  const Oid toast = rel->rd_rel->reltoastrelid;
  if (!OidIsValid(toast))
    return true;
  if (!relation_lock_within(toast, RowExclusiveLock, patience_us))
    return false;
  Relation toast_rel = table_open(toast, NoLock);
  List *indexes = RelationGetIndexList(toast_rel);
  table_close(toast_rel, NoLock);
  if (!lock_all(indexes, RowExclusiveLock, patience_us)) {
    UnlockRelationOid(toast, RowExclusiveLock);
    return false;
  }
  *locked = list_concat(lappend_oid(*locked, toast), indexes);
  return true;
}

// Opens a table whose layout is verified, and none of its indexes. Result: nullptr when the lock was not to be had in
// time.
template <class Check> Relation try_open_heap(Known known, LOCKMODE mode, int64 patience_us, Check check) {
  Oid oid;
  if (!lock_known(known, mode, patience_us, &oid))
    return nullptr;
  Relation rel = table_open(oid, NoLock);
  if (!verify(known, [rel, check] { return check(rel); })) {
    table_close(rel, mode);
    return nullptr;
  }
  return rel;
}

// Opens one with its indexes. Result: false when the locks were not to be had in time.
template <class Check>
bool try_open(OpenTable *table, Known known, LOCKMODE mode, bool toast, int64 patience_us, Check check) {
  Relation rel = try_open_heap(known, mode, patience_us, check);
  if (rel == nullptr)
    return false;
  // A reader needs the primary key only, a writer all indexes. A REINDEX CONCURRENTLY that puts another in its place
  // while these are locked keeps this one up for as long as the table's lock is had; the other is not locked.
  const Oid primary_key = pg::primary_key_index(rel);
  List *locked = mode == AccessShareLock ? list_make1_oid(primary_key) : RelationGetIndexList(rel);
  if (!lock_all(locked, mode, patience_us)) {
    table_close(rel, mode);
    return false;
  }
  if (toast && !lock_toast(rel, &locked, patience_us)) {
    unlock_all(locked, mode);
    table_close(rel, mode);
    return false;
  }
  *table = {rel, primary_key, locked, mode};
  return true;
}

void close(OpenTable *table, LOCKMODE kept) {
  unlock_all(table->locked, table->mode);
  table_close(table->heap, kept);
}

// Rows of a ledger are written without a thought for indexes.
void verify_ledger(Relation rel, Known known) {
  switch (known) {
  case refusal_counters_known:
    verify_columns(rel, known_names[known], counter_columns, lengthof(counter_columns));
    break;
  case refusal_history_known:
    verify_columns(rel, known_names[known], refused_columns, lengthof(refused_columns));
    break;
  default:
    verify_columns(rel, known_names[known], event_columns, lengthof(event_columns));
  }
  if (RelationGetIndexList(rel) != NIL)
    refuse_layout(known_names[known], "It has an index.");
}

Known known_of(Ledger ledger) {
  return ledger == Ledger::refusal_counters  ? refusal_counters_known
         : ledger == Ledger::refusal_history ? refusal_history_known
                                             : lease_history_known;
}

} // namespace

bool try_open_slots(Slots *slots, LOCKMODE mode, bool toast, int64 patience_us) {
  return try_open(slots, slots_known, mode, toast, patience_us,
                  [patience_us](Relation rel) { return verify_slots(rel, patience_us); });
}

void open_slots(Slots *slots, LOCKMODE mode, bool toast, int64 patience_us) {
  if (!try_open_slots(slots, mode, toast, patience_us))
    refuse_lock("lease_slots");
}

void open_slots_to_peek(Slots *slots) {
  Relation rel = try_open_heap(slots_known, AccessShareLock, short_patience_us,
                               [](Relation rel) { return verify_slots(rel, short_patience_us); });
  if (rel == nullptr)
    refuse_lock("lease_slots");
  *slots = {{rel, pg::primary_key_index(rel), NIL, AccessShareLock}};
}

void lock_primary_key(const Slots &slots) {
  if (!relation_lock_within(slots.primary_key, AccessShareLock, short_patience_us))
    refuse_lock("lease_slots");
}

void close_slots(Slots *slots) { close(slots, slots->mode); }

void close_slots_written(Slots *slots) { close(slots, NoLock); }

bool has_queue() { return OidIsValid(found_oid(queue_known)); }

bool try_open_queue(Queue *queue, LOCKMODE mode, int64 patience_us) {
  return try_open(queue, queue_known, mode, mode != AccessShareLock, patience_us, [patience_us](Relation rel) {
    verify_columns(rel, "queue", queue_columns, queue_column_count);
    return verify_indexes(rel, "queue", unfit_for_queue, patience_us);
  });
}

void open_queue(Queue *queue, LOCKMODE mode) {
  if (!try_open_queue(queue, mode, short_patience_us))
    refuse_lock("queue");
}

void close_queue(Queue *queue) { close(queue, queue->mode); }

void close_queue_written(Queue *queue) { close(queue, NoLock); }

Oid lock_sequence() {
  Oid oid;
  if (!lock_known(sequence_known, RowExclusiveLock, short_patience_us, &oid))
    refuse_lock("token_sequence");
  verify(sequence_known, [oid] {
    verify_sequence(oid);
    return true;
  });
  Relation rel = relation_open(oid, NoLock);
  const bool rewritten = pg::rewritten_here(rel);
  relation_close(rel, NoLock);
  // A rollback would bring the old file back, and with it tokens that have been seen.
  if (rewritten && !mutant("rewritten_sequence_drawn"))
    refuse_layout("token_sequence", "This transaction has altered it: commit first.");
  return oid;
}

void unlock_sequence(Oid sequence) { UnlockRelationOid(sequence, RowExclusiveLock); }

Relation open_sequence() {
  Oid oid;
  if (!lock_known(sequence_known, AccessShareLock, short_patience_us, &oid))
    refuse_lock("token_sequence");
  return relation_open(oid, NoLock);
}

void close_sequence(Relation sequence) { relation_close(sequence, AccessShareLock); }

Relation open_identity(LOCKMODE mode) {
  Oid oid;
  if (!lock_known(identity_known, mode, short_patience_us, &oid))
    refuse_lock("identity");
  Relation rel = table_open(oid, NoLock);
  verify(identity_known, [rel] {
    verify_columns(rel, "identity", identity_columns, identity_column_count);
    return true;
  });
  return rel;
}

void close_identity(Relation identity, LOCKMODE mode) { table_close(identity, mode); }

bool is_floor(Oid relation) { return relation == oid_of(floor_known); }

Relation open_floor() {
  Oid oid;
  if (!lock_known(floor_known, AccessShareLock, short_patience_us, &oid))
    refuse_lock("floor");
  Relation rel = table_open(oid, NoLock);
  verify_columns(rel, "floor", floor_columns, 1);
  return rel;
}

void close_floor(Relation floor) { table_close(floor, AccessShareLock); }

Relation open_rules(LOCKMODE mode) {
  Oid oid;
  if (!lock_known(rules_known, mode, short_patience_us, &oid))
    refuse_lock("name_rules");
  Relation rel = table_open(oid, NoLock);
  if (!verify(rules_known, [rel] {
        verify_columns(rel, "name_rules", rule_columns, rule_column_count);
        return verify_indexes(rel, "name_rules", unfit, short_patience_us);
      }))
    refuse_lock("name_rules");
  return rel;
}

void close_rules(Relation rules, LOCKMODE mode) { table_close(rules, mode); }

bool is_rules(Oid relation) { return relation == oid_of(rules_known); }

Relation try_open_ledger(Ledger ledger, LOCKMODE mode, int64 patience_us) {
  const Known known = known_of(ledger);
  Oid oid;
  if (!lock_known(known, mode, patience_us, &oid))
    return nullptr;
  Relation rel = table_open(oid, NoLock);
  verify(known, [rel, known] {
    verify_ledger(rel, known);
    return true;
  });
  return rel;
}

Relation open_ledger(Ledger ledger, LOCKMODE mode) {
  Relation rel = try_open_ledger(ledger, mode, short_patience_us);
  if (rel == nullptr)
    refuse_lock(known_names[known_of(ledger)]);
  return rel;
}

Oid slots_relation() { return oid_of(slots_known); }

uint64 relations_epoch() { return epoch; }

void register_relation_callbacks() {
  CacheRegisterRelcacheCallback(forget_relation, 0);
  CacheRegisterSyscacheCallback(SEQRELID, forget_sequence_shape, 0);
}

} // namespace gatepost
