#include "protect.hpp"

#include "fence_template.hpp"
#include "mutant.hpp"
#include "protection.hpp"

namespace gatepost {
namespace {

const char *qualified(Oid relation) {
  return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));
}

// DDL of ours, as the owner of the extension: whoever owns a table need not be granted the trigger functions, and the
// caller's rights have been checked. All names are qualified.
void run_ddl(const char *text) {
  Oid role;
  int context;
  GetUserIdAndSecContext(&role, &context);
  PG_TRY();
  {
    HeapTuple function = SearchSysCache1(PROCOID, ObjectIdGetDatum(fence_functions_here().oid[0]));
    if (!HeapTupleIsValid(function))
      elog(ERROR, "cache lookup failed for the fence functions");
    const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function))->proowner;
    ReleaseSysCache(function);
    SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
    SPI_connect();
    if (SPI_execute(text, false, 0) != SPI_OK_UTILITY)
      elog(ERROR, "could not run \"%s\"", text);
    SPI_finish();
  }
  PG_FINALLY();
  { SetUserIdAndSecContext(role, context); }
  PG_END_TRY();
}

void always(Oid relation, const char *trigger) {
  if (!mutant("triggers_not_always"))
    run_ddl(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", qualified(relation), quote_identifier(trigger)));
}

void make_trigger(Oid relation, const FenceTrigger &like, bool for_rows) {
  const FenceMode mode = like.arguments.mode;
  StringInfoData text;
  initStringInfo(&text);
  const char *name = !for_rows                                                ? statement_trigger
                     : get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE ? psprintf(cloned_row_trigger, relation)
                                                                              : row_trigger;
  // By template: the final values of the row, whatever other triggers make of it.
  const char *when = for_rows && mode == FenceMode::by_template ? "AFTER" : "BEFORE";
  const char *events = for_rows                      ? "INSERT OR UPDATE OR DELETE"
                       : mode == FenceMode::by_lease ? "INSERT OR UPDATE OR DELETE OR TRUNCATE"
                                                     : "TRUNCATE";
  appendStringInfo(&text, "CREATE TRIGGER %s %s %s ON %s FOR EACH %s EXECUTE FUNCTION gatepost.%s(", name, when, events,
                   qualified(relation), for_rows ? "ROW" : "STATEMENT", fence_functions[static_cast<int>(mode)]);
  for (int i = 0; i < like.count; i++)
    appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(like.stored[i]));
  appendStringInfoChar(&text, ')');
  run_ddl(text.data);
  always(relation, name);
}

void drop_trigger(const FenceTrigger &trigger) {
  run_ddl(psprintf("DROP TRIGGER %s ON %s", quote_identifier(trigger.name), qualified(trigger.relation)));
  CommandCounterIncrement();
}

// Our own DDL fires the event trigger too, amid its work.
bool following;

template <class Work> void without_following(Work work) {
  PG_TRY();
  {
    following = true;
    work();
  }
  PG_FINALLY();
  { following = false; }
  PG_END_TRY();
}

[[noreturn]] void refuse_other_protection(Oid relation) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("relation \"%s\" is protected otherwise than the one above it", get_rel_name(relation)),
                  errhint("Call gatepost.fence_unprotect() for it first.")));
}

// What there is of a protection on one relation, and what is amiss.
struct Parts {
  const FenceTrigger *statement;
  const FenceTrigger *rows;
  const FenceTrigger *doubled; // a row trigger of its own beside the clone, when it was protected alike and attached
  bool rows_missing;
};

// What ALTER TABLE .. ENABLE TRIGGER ALL leaves behind, at the end of a dump without triggers for one. A trigger that
// somebody has disabled stays so.
bool is_weak(const FenceTrigger *trigger) { return trigger != nullptr && trigger->enabled == TRIGGER_FIRES_ON_ORIGIN; }

Parts parts_of(Oid relation, const FenceTrigger &like) {
  List *triggers = fence_triggers_of(relation);
  Parts parts{statement_trigger_of(triggers), nullptr, nullptr, false};
  const FenceTrigger *own = nullptr;
  const FenceTrigger *clone = nullptr;
  ListCell *cell;
  foreach (cell, triggers) {
    const auto *trigger = static_cast<const FenceTrigger *>(lfirst(cell));
    if (trigger->for_rows && same_arguments(*trigger, like))
      (trigger->cloned ? clone : own) = trigger;
  }
  parts.rows = clone != nullptr ? clone : own;
  parts.doubled = clone != nullptr ? own : nullptr;
  parts.rows_missing =
      parts.rows == nullptr && needs_row_trigger(relation, like.arguments.mode) && !mutant("leaves_unguarded");
  return parts;
}

bool is_complete(const Parts &parts, const FenceTrigger &like) {
  return parts.statement != nullptr && same_arguments(*parts.statement, like) && !is_weak(parts.statement) &&
         !parts.rows_missing && !is_weak(parts.rows) && parts.doubled == nullptr;
}

// Makes what is missing of the triggers of one relation, which is locked only then.
void complete(Oid relation, const FenceTrigger &like) {
  if (is_complete(parts_of(relation, like), like))
    return;
  LockRelationOid(relation, ShareRowExclusiveLock);
  // Dropped meanwhile.
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
    return;
  const Parts parts = parts_of(relation, like);
  if (parts.statement != nullptr && !same_arguments(*parts.statement, like))
    refuse_other_protection(relation);
  if (parts.doubled != nullptr)
    drop_trigger(*parts.doubled);
  if (parts.statement == nullptr)
    make_trigger(relation, like, false);
  else if (is_weak(parts.statement))
    always(relation, parts.statement->name);
  if (parts.rows_missing)
    make_trigger(relation, like, true);
  else if (is_weak(parts.rows))
    always(relation, parts.rows->name);
  CommandCounterIncrement();
}

// Parents come first, so that the server clones their row triggers before partitions are looked at.
void complete_tree(Oid root, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, find_all_inheritors(root, NoLock, nullptr))
    complete(lfirst_oid(cell), like);
}

// Takes the triggers that are like the root's from the tree.
void strip_tree(Oid root, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, find_all_inheritors(root, NoLock, nullptr)) {
    const Oid relation = lfirst_oid(cell);
    ListCell *inner;
    foreach (inner, fence_triggers_of(relation)) {
      const auto *trigger = static_cast<const FenceTrigger *>(lfirst(inner));
      if (!trigger->cloned && same_arguments(*trigger, like))
        drop_trigger(*trigger);
    }
  }
}

// What is left of it, when somebody has dropped a part.
const FenceTrigger *own_protection(Oid relation) { return protection_of(fence_triggers_of(relation)); }

// The nearest relation above with the same protection, InvalidOid when none.
Oid protected_parent(Oid relation, const FenceTrigger &like) {
  Relation inherits = table_open(InheritsRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, nullptr, 1, &key);
  Oid found = InvalidOid;
  while (HeapTuple tuple = systable_getnext(scan)) {
    const Oid parent = reinterpret_cast<Form_pg_inherits>(GETSTRUCT(tuple))->inhparent;
    const FenceTrigger *protection = own_protection(parent);
    if (protection != nullptr && same_arguments(*protection, like))
      found = parent;
  }
  systable_endscan(scan);
  table_close(inherits, AccessShareLock);
  return found;
}

void require_owner(Oid relation) {
  const char *name = get_rel_name(relation);
  if (name == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target with oid %u does not exist", relation)));
  if (!pg::owns_relation(relation, GetUserId()))
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of table %s", name)));
}

// Locks the whole tree as CREATE TRIGGER does, and makes sure that the caller owns it.
void lock_tree(Oid target) {
  // Before the lock too: nobody stops the writers of somebody else's table by asking.
  if (!mutant("locked_before_asked"))
    require_owner(target);
  LockRelationOid(target, ShareRowExclusiveLock);
  require_owner(target);
  ListCell *cell;
  foreach (cell, find_all_inheritors(target, ShareRowExclusiveLock, nullptr))
    require_owner(lfirst_oid(cell));
}

void require_table(Relation rel) {
  const char kind = rel->rd_rel->relkind;
  if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
    ereport(ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("target \"%s\" is not a table", RelationGetRelationName(rel))));
  if (IsSystemRelation(rel) || RelationGetNamespace(rel) == get_namespace_oid("gatepost", true))
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("target \"%s\" cannot be protected: it belongs to the server or to gatepost",
                           RelationGetRelationName(rel))));
}

void require_fence_column(Relation rel, const char *column) {
  const AttrNumber number = get_attnum(RelationGetRelid(rel), column);
  if (number <= 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("fence_column \"%s\" of relation \"%s\" does not exist",
                                                              column, RelationGetRelationName(rel))));
  const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), number - 1);
  if (attribute->atttypid != INT8OID)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("fence_column \"%s\" is of type %s, it must be bigint",
                                                               column, format_type_be(attribute->atttypid))));
  if (attribute->attgenerated != '\0' || attribute->attidentity != '\0')
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("fence_column \"%s\" is a generated or identity column", column)));
}

[[noreturn]] void refuse_argument(const char *message) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", message)));
}

constexpr size_t longest_name = 1024;

// The arguments that the triggers will have.
FenceTrigger arguments_for(const ProtectRequest &request, Relation rel) {
  if (request.lease == nullptr && request.column == nullptr)
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("lease and fence_column must not both be null")));
  if (request.lease != nullptr && request.lease[0] == '\0')
    refuse_argument("lease must not be empty");
  if (request.column == nullptr && request.issuer != Issuer::gatepost)
    refuse_argument("issuer \"any\" needs a fence_column: a lease has tokens of its own only");
  const bool template_given = request.lease != nullptr && is_template(request.lease);
  if (request.column != nullptr && template_given)
    refuse_argument("fence_column does not go together with a lease that is made of the row's columns");
  if (template_given)
    parse_template(request.lease, rel);
  if (request.column != nullptr)
    require_fence_column(rel, request.column);
  const char *lease = request.lease == nullptr || template_given ? request.lease : plain_name(request.lease);
  if (lease != nullptr && !template_given && strlen(lease) > longest_name)
    refuse_argument(psprintf("lease is %zu bytes long, at most %zu are allowed", strlen(lease), longest_name));

  FenceTrigger like{};
  const int room = 3 + list_length(request.exempt);
  like.stored = static_cast<char **>(palloc(sizeof(char *) * room));
  const auto store = [&like](const char *argument) { like.stored[like.count++] = pstrdup(argument); };
  FenceMode mode = template_given ? FenceMode::by_template : FenceMode::by_lease;
  if (request.column != nullptr) {
    mode = FenceMode::by_column;
    store(request.column);
    store(issuer_name(request.issuer));
    store(lease != nullptr ? lease : "");
  } else {
    store(lease);
  }
  ListCell *cell;
  foreach (cell, request.exempt)
    store(static_cast<const char *>(lfirst(cell)));
  read_fence_arguments(mode, like.count, like.stored, &like.arguments);
  return like;
}

void follow_tree(Oid root) {
  const FenceTrigger *protection = own_protection(root);
  if (protection == nullptr)
    return;
  // As with the triggers that the server clones: whoever links a table links what is below it, whose ever it is.
  const bool owns_root = pg::owns_relation(root, GetUserId());
  ListCell *cell;
  foreach (cell, find_all_inheritors(root, NoLock, nullptr)) {
    const Oid relation = lfirst_oid(cell);
    if (owns_root || pg::owns_relation(relation, GetUserId()))
      complete(relation, *protection);
  }
}

// Nothing else is followed: a dump makes the triggers one by one, with ENABLE ALWAYS after each, and one that it comes
// to later must not be there already.
bool concerns_protection(const Node *command) {
  ListCell *cell;
  switch (nodeTag(command)) {
  case T_CreateStmt:
  case T_CreateForeignTableStmt:
    return reinterpret_cast<const CreateStmt *>(command)->inhRelations != NIL;
  case T_CreateSchemaStmt:
    foreach (cell, reinterpret_cast<const CreateSchemaStmt *>(command)->schemaElts)
      if (concerns_protection(static_cast<const Node *>(lfirst(cell))))
        return true;
    return false;
  case T_AlterTableStmt:
    foreach (cell, reinterpret_cast<const AlterTableStmt *>(command)->cmds)
      switch (static_cast<const AlterTableCmd *>(lfirst(cell))->subtype) {
      case AT_AddInherit:
      case AT_DropInherit:
      case AT_AttachPartition:
      case AT_DetachPartition:
      case AT_DetachPartitionFinalize:
      case AT_EnableTrig:
      case AT_EnableTrigAll:
      case AT_EnableTrigUser:
        return true;
      default:
        break;
      }
    return false;
  default:
    return false;
  }
}

void follow_all() {
  ListCell *cell;
  foreach (cell, protected_relations())
    follow_tree(lfirst_oid(cell));
}

void replace_protection(Oid target, const FenceTrigger &like) {
  const FenceTrigger *former = own_protection(target);
  if (former != nullptr) {
    const Oid parent = protected_parent(target, *former);
    if (OidIsValid(parent) && !same_arguments(*former, like))
      refuse_other_protection(target);
    strip_tree(target, *former);
  }
  complete_tree(target, like);
  // What is below another protected table too needs that one's triggers.
  follow_all();
}

} // namespace

void protect_table(const ProtectRequest &request) {
  lock_tree(request.target);
  Relation rel = relation_open(request.target, NoLock);
  require_table(rel);
  const FenceTrigger like = arguments_for(request, rel);
  relation_close(rel, NoLock);
  without_following([&] { replace_protection(request.target, like); });
}

void unprotect_table(Oid target) {
  lock_tree(target);
  const FenceTrigger *protection = own_protection(target);
  if (protection == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("relation \"%s\" is not protected", get_rel_name(target))));
  const Oid parent = protected_parent(target, *protection);
  if (OidIsValid(parent))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("relation \"%s\" is protected with relation \"%s\" above it", get_rel_name(target),
                           get_rel_name(parent))));
  without_following([&] {
    strip_tree(target, *protection);
    follow_all();
  });
}

void follow_ddl(const Node *command) {
  if (following || !concerns_protection(command) || mutant("ddl_unfollowed"))
    return;
  without_following(follow_all);
}

} // namespace gatepost
