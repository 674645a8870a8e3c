#include "protection.hpp"

#include "mutant.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

// The trigger's arguments, each ended by a zero byte.
char **split_arguments(const bytea *stored, int count) {
  char **arguments = static_cast<char **>(palloc(sizeof(char *) * (count + 1)));
  const char *rest = VARDATA_ANY(stored);
  for (int i = 0; i < count; i++) {
    arguments[i] = pstrdup(rest);
    rest += strlen(rest) + 1;
  }
  return arguments;
}

bool read_trigger(HeapTuple tuple, TupleDesc description, const FenceFunctions &functions, FenceTrigger *result) {
  const auto form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple));
  int mode = 0;
  while (mode < fence_mode_count && functions.oid[mode] != form->tgfoid)
    mode++;
  if (mode == fence_mode_count)
    return false;
  bool isnull;
  const Datum stored = heap_getattr(tuple, Anum_pg_trigger_tgargs, description, &isnull);
  result->oid = form->oid;
  result->relation = form->tgrelid;
  result->name = pstrdup(NameStr(form->tgname));
  result->for_rows = TRIGGER_FOR_ROW(form->tgtype);
  result->cloned = OidIsValid(form->tgparentid);
  result->enabled = form->tgenabled;
  result->type = form->tgtype;
  result->count = form->tgnargs;
  result->stored = split_arguments(DatumGetByteaPP(stored), form->tgnargs);
  return read_fence_arguments(static_cast<FenceMode>(mode), result->count, result->stored, &result->arguments);
}

} // namespace

List *fence_triggers_of(Oid relation) {
  const FenceFunctions functions = fence_functions_here();
  List *result = NIL;
  Relation catalog = table_open(TriggerRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(catalog, TriggerRelidNameIndexId, true, nullptr, 1, &key);
  while (HeapTuple tuple = systable_getnext(scan)) {
    auto *trigger = static_cast<FenceTrigger *>(palloc0(sizeof(FenceTrigger)));
    if (read_trigger(tuple, RelationGetDescr(catalog), functions, trigger))
      result = lappend(result, trigger);
  }
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return result;
}

List *protected_relations() {
  const FenceFunctions functions = fence_functions_here();
  List *triggers = NIL;
  // Found through what depends on the functions: pg_trigger has no index by function.
  Relation catalog = table_open(DependRelationId, AccessShareLock);
  for (const Oid function : functions.oid) {
    if (!OidIsValid(function))
      continue;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(ProcedureRelationId));
    ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(function));
    SysScanDesc scan = systable_beginscan(catalog, DependReferenceIndexId, true, nullptr, 2, keys);
    while (HeapTuple tuple = systable_getnext(scan)) {
      const auto form = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
      if (form->classid == TriggerRelationId)
        triggers = lappend_oid(triggers, form->objid);
    }
    systable_endscan(scan);
  }
  table_close(catalog, AccessShareLock);

  List *relations = NIL;
  catalog = table_open(TriggerRelationId, AccessShareLock);
  ListCell *cell;
  foreach (cell, triggers) {
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(lfirst_oid(cell)));
    SysScanDesc scan = systable_beginscan(catalog, TriggerOidIndexId, true, nullptr, 1, &key);
    while (HeapTuple tuple = systable_getnext(scan))
      relations = lappend_oid(relations, reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple))->tgrelid);
    systable_endscan(scan);
  }
  table_close(catalog, AccessShareLock);
  list_sort(relations, list_oid_cmp);
  list_deduplicate_oid(relations);
  at(Point::protected_listed);
  return relations;
}

namespace {

// The relations right below, in the order of their oids, in which everybody locks them.
List *children_of(Oid relation, LOCKMODE lock) {
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
  if (!HeapTupleIsValid(tuple))
    return NIL;
  const bool may_have_some = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relhassubclass;
  ReleaseSysCache(tuple);
  if (!may_have_some)
    return NIL;
  List *found = NIL;
  Relation inherits = table_open(InheritsRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(inherits, InheritsParentIndexId, true, nullptr, 1, &key);
  while (HeapTuple row = systable_getnext(scan))
    found = lappend_oid(found, reinterpret_cast<Form_pg_inherits>(GETSTRUCT(row))->inhrelid);
  systable_endscan(scan);
  table_close(inherits, AccessShareLock);
  list_sort(found, list_oid_cmp);
  if (lock == NoLock)
    return found;
  List *locked = NIL;
  ListCell *cell;
  foreach (cell, found) {
    LockRelationOid(lfirst_oid(cell), lock);
    if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(cell))))
      locked = lappend_oid(locked, lfirst_oid(cell));
    else
      UnlockRelationOid(lfirst_oid(cell), lock);
  }
  return locked;
}

} // namespace

// The server's find_all_inheritors() fails with an internal error where somebody drops a relation meanwhile, and a DROP
// must not end the commands of others.
List *tree_of(Oid root, LOCKMODE lock) {
  if (mutant("gone_relations_missed"))
    return find_all_inheritors(root, lock, nullptr);
  List *tree = list_make1_oid(root);
  HTAB *seen = nullptr;
  for (int i = 0; i < list_length(tree); i++) {
    List *children = children_of(list_nth_oid(tree, i), lock);
    if (children == NIL)
      continue;
    if (seen == nullptr) {
      HASHCTL control{};
      control.keysize = control.entrysize = sizeof(Oid);
      control.hcxt = CurrentMemoryContext;
      seen = hash_create("relations of a tree", 32, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    ListCell *cell;
    foreach (cell, children) {
      bool known;
      hash_search(seen, &lfirst_oid(cell), HASH_ENTER, &known);
      if (!known)
        tree = lappend_oid(tree, lfirst_oid(cell));
    }
  }
  if (seen != nullptr)
    hash_destroy(seen);
  return tree;
}

List *parents_of(Oid relation) {
  List *parents = NIL;
  Relation inherits = table_open(InheritsRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, nullptr, 1, &key);
  while (HeapTuple tuple = systable_getnext(scan))
    parents = lappend_oid(parents, reinterpret_cast<Form_pg_inherits>(GETSTRUCT(tuple))->inhparent);
  systable_endscan(scan);
  table_close(inherits, AccessShareLock);
  return parents;
}

const FenceTrigger *statement_trigger_of(List *triggers) {
  ListCell *cell;
  foreach (cell, triggers) {
    const auto *trigger = static_cast<const FenceTrigger *>(lfirst(cell));
    if (!trigger->for_rows)
      return trigger;
  }
  return nullptr;
}

const FenceTrigger *protection_of(List *triggers) {
  const FenceTrigger *statement = statement_trigger_of(triggers);
  return statement != nullptr || triggers == NIL ? statement : static_cast<const FenceTrigger *>(linitial(triggers));
}

const FenceTrigger *row_trigger_like(List *triggers, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, triggers) {
    const auto *trigger = static_cast<const FenceTrigger *>(lfirst(cell));
    if (trigger->for_rows && same_arguments(*trigger, like))
      return trigger;
  }
  return nullptr;
}

bool is_whole(const FenceTrigger &trigger) {
  constexpr int16 writes = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE;
  const bool by_lease = trigger.arguments.mode == FenceMode::by_lease;
  const bool before = !trigger.for_rows || trigger.arguments.mode != FenceMode::by_template;
  int16 events = trigger.for_rows ? writes : TRIGGER_TYPE_TRUNCATE;
  if (!trigger.for_rows && by_lease)
    events |= writes;
  return (trigger.type & events) == events && (TRIGGER_FOR_BEFORE(trigger.type) != 0) == before;
}

namespace {

// Whether it lets no statement pass: it may be disabled, or somebody's own for some events only.
bool shuts(const FenceTrigger &statement) {
  constexpr int16 writes = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE;
  return (statement.enabled == TRIGGER_FIRES_ALWAYS && TRIGGER_FOR_BEFORE(statement.type) &&
          (statement.type & writes) == writes) ||
         mutant("fences_above_believed");
}

// Whether a statement on a table somewhere above reaches the relation's rows past any statement trigger like this one.
// shut: those that have been seen and let none through, since ways up that part and meet again multiply.
bool open_above(Oid relation, const FenceTrigger &like, List **shut) {
  CHECK_FOR_INTERRUPTS();
  ListCell *cell;
  foreach (cell, parents_of(relation)) {
    const Oid parent = lfirst_oid(cell);
    if (list_member_oid(*shut, parent) && !mutant("every_way_up_gone"))
      continue;
    const FenceTrigger *above = statement_trigger_of(fence_triggers_of(parent));
    if (above == nullptr || !shuts(*above) || !same_arguments(*above, like) || open_above(parent, like, shut))
      return true;
    *shut = lappend_oid(*shut, parent);
  }
  return false;
}

} // namespace

bool needs_row_trigger(Oid relation, const FenceTrigger &like) {
  List *shut = NIL;
  return like.arguments.mode != FenceMode::by_lease || open_above(relation, like, &shut);
}

bool same_arguments(const FenceTrigger &a, const FenceTrigger &b) {
  if (a.arguments.mode != b.arguments.mode || a.count != b.count)
    return false;
  for (int i = 0; i < a.count; i++)
    if (strcmp(a.stored[i], b.stored[i]) != 0)
      return false;
  return true;
}

} // namespace gatepost
