#include "fence_trigger_ddl.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

Oid extension_owner() {
  HeapTuple function = SearchSysCache1(PROCOID, ObjectIdGetDatum(fence_functions_here().oid[0]));
  if (!HeapTupleIsValid(function))
    elog(ERROR, "cache lookup failed for the fence functions");
  const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function))->proowner;
  ReleaseSysCache(function);
  return owner;
}

template <class Work> void as_extension_owner(Work work) {
  Oid role;
  int context;
  GetUserIdAndSecContext(&role, &context);
  PG_TRY();
  {
    SetUserIdAndSecContext(extension_owner(), context | SECURITY_LOCAL_USERID_CHANGE);
    work();
  }
  PG_FINALLY();
  { SetUserIdAndSecContext(role, context); }
  PG_END_TRY();
  CommandCounterIncrement();
}

const char *name_for(Oid relation, bool for_rows) {
  if (!for_rows)
    return statement_trigger;
  return get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE ? psprintf(cloned_row_trigger, relation) : row_trigger;
}

int16 events_for(FenceMode mode, bool for_rows) {
  constexpr int16 writes = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE;
  if (for_rows)
    return writes;
  return mode == FenceMode::by_lease ? writes | TRIGGER_TYPE_TRUNCATE : TRIGGER_TYPE_TRUNCATE;
}

} // namespace

void make_fence_trigger(Oid relation, const FenceTrigger &like, bool for_rows) {
  const FenceMode mode = like.arguments.mode;
  CreateTrigStmt *statement = makeNode(CreateTrigStmt);
  statement->trigname = pstrdup(name_for(relation, for_rows));
  statement->row = for_rows;
  // By template: the final values of the row, whatever other triggers make of it.
  statement->timing = for_rows && mode == FenceMode::by_template ? TRIGGER_TYPE_AFTER : TRIGGER_TYPE_BEFORE;
  statement->events = events_for(mode, for_rows);
  for (int i = 0; i < like.count; i++)
    statement->args = lappend(statement->args, makeString(like.stored[i]));
  const Oid function = fence_functions_here().oid[static_cast<int>(mode)];
  const char fires = mutant("triggers_not_always") ? TRIGGER_FIRES_ON_ORIGIN : TRIGGER_FIRES_ALWAYS;
  as_extension_owner([&] {
    CreateTriggerFiringOn(statement, nullptr, relation, InvalidOid, InvalidOid, InvalidOid, function, InvalidOid,
                          nullptr, false, false, fires);
  });
}

void drop_fence_trigger(const FenceTrigger &trigger) {
  const ObjectAddress address{TriggerRelationId, trigger.oid, 0};
  as_extension_owner([&] { performDeletion(&address, DROP_RESTRICT, 0); });
}

void enable_always(Oid relation, const FenceTrigger &trigger) {
  if (mutant("triggers_not_always"))
    return;
  Relation rel = table_open(relation, NoLock);
  as_extension_owner([&] { pg::enable_trigger_always(rel, trigger.name); });
  table_close(rel, NoLock);
}

} // namespace gatepost
