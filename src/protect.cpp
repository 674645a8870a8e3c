#include "protect.hpp"

#include "arguments.hpp"
#include "fence_template.hpp"
#include "fence_trigger_ddl.hpp"
#include "mutant.hpp"
#include "protection.hpp"

namespace gatepost {
namespace {

[[noreturn]] void refuse_other_protection(Oid relation) {
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("relation \"%s\" is protected otherwise than the one above it", get_rel_name(relation)),
                  errhint("Call gatepost.fence_unprotect() for it first.")));
}

// What is left of it, when somebody has dropped a part.
const FenceTrigger *own_protection(Oid relation) { return protection_of(fence_triggers_of(relation)); }

// What a relation lacks of the triggers that it needs.
struct Lack {
  const FenceTrigger *superfluous; // a row trigger beside a clone like it, or with nothing open above any more
  const FenceTrigger *weak_statement;
  const FenceTrigger *weak_rows;
  bool no_statement;
  bool no_rows;

  bool any() const { return superfluous || weak_statement || weak_rows || no_statement || no_rows; }
};

const FenceTrigger *superfluous_row_trigger(List *triggers, const FenceTrigger &like, bool wanted) {
  const FenceTrigger *own = nullptr;
  bool cloned = false;
  ListCell *cell;
  foreach (cell, triggers) {
    const auto *trigger = static_cast<const FenceTrigger *>(lfirst(cell));
    if (!trigger->for_rows || !same_arguments(*trigger, like))
      continue;
    cloned = cloned || trigger->cloned;
    own = trigger->cloned ? own : trigger;
  }
  return cloned || !wanted ? own : nullptr;
}

// What ALTER TABLE .. ENABLE TRIGGER ALL leaves behind, at the end of a dump without triggers for one. A trigger that
// somebody has disabled stays so.
const FenceTrigger *if_weak(const FenceTrigger *trigger) {
  return trigger != nullptr && trigger->enabled == TRIGGER_FIRES_ON_ORIGIN ? trigger : nullptr;
}

Lack lack_of(Oid relation, const FenceTrigger &like) {
  List *triggers = fence_triggers_of(relation);
  const FenceTrigger *statement = statement_trigger_of(triggers);
  if (statement != nullptr && !same_arguments(*statement, like))
    refuse_other_protection(relation);
  const bool wants_rows = needs_row_trigger(relation, like) && !mutant("leaves_unguarded");
  const FenceTrigger *superfluous = superfluous_row_trigger(triggers, like, wants_rows);
  const FenceTrigger *rows = row_trigger_like(
      superfluous != nullptr ? list_delete_ptr(triggers, const_cast<FenceTrigger *>(superfluous)) : triggers, like);
  return {superfluous, if_weak(statement), if_weak(rows), statement == nullptr, rows == nullptr && wants_rows};
}

// As with the triggers that the server clones: whoever links a table links the partitions below it, whose ever they
// are.
bool may_complete(Oid root, Oid relation) {
  if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)))
    return false;
  return pg::owns_relation(relation, GetUserId()) ||
         (get_rel_relispartition(relation) && pg::owns_relation(root, GetUserId()));
}

// Locks it against changes of its triggers. Result: false when it is gone, or given away, by the time the lock was had.
bool lock_completable(Oid root, Oid relation) {
  LockRelationOid(relation, ShareRowExclusiveLock);
  if (may_complete(root, relation) || mutant("owners_believed"))
    return true;
  UnlockRelationOid(relation, ShareRowExclusiveLock);
  return false;
}

// A child of the tree that is another role's stays as it is, and says so.
void warn_unguarded(Oid relation) {
  const char *name = get_rel_name(relation);
  if (name != nullptr && own_protection(relation) == nullptr)
    ereport(WARNING, (errmsg("relation \"%s\" is not guarded, though it is below a protected one", name),
                      errdetail("It belongs to another role, whose tables are not changed."),
                      errhint("Let its owner, or a superuser, call gatepost.fence_protect() for it.")));
}

bool lacks_rows(Oid relation, const FenceTrigger &like) {
  const FenceTrigger *statement = statement_trigger_of(fence_triggers_of(relation));
  return statement != nullptr && same_arguments(*statement, like) && lack_of(relation, like).no_rows;
}

// Another role's table that is protected alike gets the row trigger all the same, since commands on what is above it
// take that away (the server drops clones with DETACH) or make it necessary. Its owner has asked for no less.
void complete_others(Oid relation, const FenceTrigger &like) {
  if (!lacks_rows(relation, like) || mutant("others_left_open"))
    return warn_unguarded(relation);
  LockRelationOid(relation, ShareRowExclusiveLock);
  if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)) && lacks_rows(relation, like))
    make_fence_trigger(relation, like, true);
}

// Makes what is missing of the triggers of one relation of a tree. Without anything to do it is not locked.
void complete(Oid root, Oid relation, const FenceTrigger &like) {
  if (!may_complete(root, relation))
    return complete_others(relation, like);
  if (!lack_of(relation, like).any() || !lock_completable(root, relation))
    return;
  const Lack lack = lack_of(relation, like);
  if (lack.superfluous != nullptr)
    drop_fence_trigger(*lack.superfluous);
  if (lack.no_statement)
    make_fence_trigger(relation, like, false);
  if (lack.weak_statement != nullptr)
    enable_always(relation, *lack.weak_statement);
  if (lack.no_rows)
    make_fence_trigger(relation, like, true);
  if (lack.weak_rows != nullptr)
    enable_always(relation, *lack.weak_rows);
}

// Parents come first, so that the server clones their row triggers before partitions are looked at.
void complete_tree(Oid root, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, tree_of(root))
    complete(root, lfirst_oid(cell), like);
}

// Takes the triggers that are like the root's from the tree.
void strip_tree(Oid root, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, tree_of(root)) {
    const Oid relation = lfirst_oid(cell);
    ListCell *inner;
    foreach (inner, fence_triggers_of(relation)) {
      const auto *trigger = static_cast<const FenceTrigger *>(lfirst(inner));
      if (!trigger->cloned && same_arguments(*trigger, like))
        drop_fence_trigger(*trigger);
    }
  }
}

// The nearest relation above with the same protection, InvalidOid when none.
Oid protected_parent(Oid relation, const FenceTrigger &like) {
  ListCell *cell;
  foreach (cell, parents_of(relation)) {
    const FenceTrigger *protection = own_protection(lfirst_oid(cell));
    if (protection != nullptr && same_arguments(*protection, like))
      return lfirst_oid(cell);
  }
  return InvalidOid;
}

void require_owner(Oid relation) {
  const char *name = get_rel_name(relation);
  if (name == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target with oid %u does not exist", relation)));
  if (!pg::owns_relation(relation, GetUserId()) && !mutant("owners_unchecked"))
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of table %s", name)));
}

void require_owned_tree(Oid target, LOCKMODE lock) {
  require_owner(target);
  ListCell *cell;
  foreach (cell, tree_of(target, lock))
    if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(lfirst_oid(cell))))
      require_owner(lfirst_oid(cell));
}

// Locks the whole tree as CREATE TRIGGER does, and makes sure that the caller owns it: before, so that nobody can keep
// others from their tables, and again when nothing changes any more.
void lock_tree(Oid target) {
  if (!mutant("locked_before_asked"))
    require_owned_tree(target, NoLock);
  LockRelationOid(target, ShareRowExclusiveLock);
  require_owned_tree(target, ShareRowExclusiveLock);
}

void require_table(Relation rel) {
  const char kind = rel->rd_rel->relkind;
  if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
    ereport(ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("target \"%s\" is not a table", RelationGetRelationName(rel)),
             kind == RELKIND_VIEW ? errhint("Protect the tables that the view shows.") : 0));
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
  if ((attribute->attgenerated != '\0' || attribute->attidentity != '\0') && !mutant("generated_marks_allowed"))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("fence_column \"%s\" is a generated or identity column", column)));
}

[[noreturn]] void refuse_argument(const char *message) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", message)));
}

// No row of such a table could ever be written.
void require_room_for_columns(const Template &parsed) {
  int literal = 0;
  for (int i = 0; i < parsed.count; i++)
    literal += parsed.parts[i].column == 0 ? parsed.parts[i].size : 0;
  if (literal > max_name_bytes && !mutant("endless_templates_taken"))
    refuse_argument(
        psprintf("lease is %d bytes long without its columns, at most %d are allowed", literal, max_name_bytes));
}

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
    require_room_for_columns(parse_template(request.lease, rel));
  if (request.column != nullptr)
    require_fence_column(rel, request.column);
  const char *lease = request.lease == nullptr || template_given ? request.lease : plain_name(request.lease);
  if (lease != nullptr && !template_given && strlen(lease) > max_name_bytes)
    refuse_argument(psprintf("lease is %zu bytes long, at most %d are allowed", strlen(lease), max_name_bytes));

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

// Whatever a command links, parts or protects is locked for it. Other trees are left alone: whoever makes a mess of his
// own tables, or locks them, stops nobody else's commands.
bool is_touched(List *tree) {
  ListCell *cell;
  foreach (cell, tree)
    if (CheckRelationOidLockedByMe(lfirst_oid(cell), ShareUpdateExclusiveLock, true))
      return true;
  return mutant("every_tree_followed");
}

void follow_tree(Oid root) {
  const FenceTrigger *protection = own_protection(root);
  List *tree = tree_of(root);
  if (protection == nullptr || !is_touched(tree))
    return;
  ListCell *cell;
  foreach (cell, tree)
    complete(root, lfirst_oid(cell), *protection);
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

void follow_touched() {
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
  follow_touched();
}

// The name in the command may lead elsewhere by now.
Oid relation_of_new_trigger() {
  constexpr const char *query = "SELECT t.tgrelid FROM pg_catalog.pg_event_trigger_ddl_commands() d"
                                " JOIN pg_catalog.pg_trigger t ON t.oid OPERATOR(pg_catalog.=) d.objid"
                                " WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_trigger'::pg_catalog.regclass";
  Oid relation = InvalidOid;
  SPI_connect();
  if (SPI_execute(query, false, 1) == SPI_OK_SELECT && SPI_processed > 0) {
    bool isnull;
    relation = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
  }
  SPI_finish();
  return relation;
}

// CREATE TRIGGER needs the right TRIGGER only, with OR REPLACE too: whoever may write, and no more, must not put a
// trigger of his own in the place of ours, nor one that looks like ours beside them.
void refuse_false_fence_trigger(const CreateTrigStmt *command) {
  const Oid relation = relation_of_new_trigger();
  if (!OidIsValid(relation) || pg::owns_relation(relation, GetUserId()) || mutant("fences_replaced"))
    return;
  bool ours = strncmp(command->trigname, statement_trigger, strlen(statement_trigger)) == 0;
  ListCell *cell;
  foreach (cell, fence_triggers_of(relation))
    ours = ours || strcmp(static_cast<const FenceTrigger *>(lfirst(cell))->name, command->trigname) == 0;
  if (ours)
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of table %s", get_rel_name(relation)),
             errdetail("Trigger \"%s\" is, or looks like, one of gatepost.fence_protect().", command->trigname)));
}

} // namespace

void protect_table(const ProtectRequest &request) {
  lock_tree(request.target);
  Relation rel = relation_open(request.target, NoLock);
  require_table(rel);
  const FenceTrigger like = arguments_for(request, rel);
  relation_close(rel, NoLock);
  replace_protection(request.target, like);
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
  strip_tree(target, *protection);
  follow_touched();
}

void follow_ddl(const Node *command) {
  if (IsA(command, CreateTrigStmt))
    refuse_false_fence_trigger(reinterpret_cast<const CreateTrigStmt *>(command));
  if (concerns_protection(command) && !mutant("ddl_unfollowed"))
    follow_touched();
}

} // namespace gatepost
