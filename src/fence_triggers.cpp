// SQL doors: the triggers that fence_protect puts on a table. They ask what this transaction uses; they look at no
// lease.
#include "arguments.hpp"
#include "edge.hpp"
#include "errors.hpp"
#include "fence_arguments.hpp"
#include "fence_template.hpp"
#include "fenced_update.hpp"
#include "mutant.hpp"
#include "refusals.hpp"
#include "split_history.hpp"
#include "uses.hpp"

using namespace gatepost;

namespace {

// What one statement has found out, kept with the trigger for its length.
struct Fence {
  FenceArguments arguments;
  bool exempt;
  uint64 version;  // of the uses for which the rest holds, 0 for none
  int64 token;     // by column
  Template parsed; // by template
  int name_size;
  char name[max_name_bytes];
  AttrNumber column; // by column
};

// With the rights of an exempt role, as the statement's outer user: inside a function that runs as its owner, and in a
// foreign key's cascade, the current one is somebody else. A superuser has the rights of every role, and is meant only
// where he is a member.
bool is_exempt(const FenceArguments &arguments) {
  const Oid user = mutant("inner_user_exempt") ? GetUserId() : GetOuterUserId();
  for (int i = 0; i < arguments.exempt_count; i++) {
    const Oid role = get_role_oid(arguments.exempt[i], true);
    if (OidIsValid(role) && is_member_of_role_nosuper(user, role) &&
        (has_privs_of_role(user, role) || mutant("members_without_rights_exempt")))
      return true;
  }
  return false;
}

AttrNumber fence_column(Relation rel, const char *name) {
  const AttrNumber column = get_attnum(RelationGetRelid(rel), name);
  if (column <= 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("fence column \"%s\" of relation \"%s\" does not exist", name, RelationGetRelationName(rel)),
                    errhint("If it has been renamed, protect the table again, with gatepost.fence_protect().")));
  if (TupleDescAttr(RelationGetDescr(rel), column - 1)->atttypid != INT8OID)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("fence column \"%s\" of relation \"%s\" is not bigint",
                                                               name, RelationGetRelationName(rel))));
  // Its value would be made anew after the row has been stamped.
  if (TupleDescAttr(RelationGetDescr(rel), column - 1)->attgenerated != '\0' && !mutant("generated_marks_stamped"))
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("fence column \"%s\" of relation \"%s\" is generated", name, RelationGetRelationName(rel)),
                    errdetail("A generated column keeps no mark.")));
  return column;
}

Fence *new_fence(FunctionCallInfo fcinfo, const TriggerData *call, FenceMode mode) {
  const MemoryContext context = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
  Fence *fence = static_cast<Fence *>(palloc0(sizeof(Fence)));
  const Trigger *trigger = call->tg_trigger;
  if (!read_fence_arguments(mode, trigger->tgnargs, trigger->tgargs, &fence->arguments))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("trigger \"%s\" of relation \"%s\" was not made by gatepost.fence_protect()",
                           trigger->tgname, RelationGetRelationName(call->tg_relation))));
  fence->exempt = is_exempt(fence->arguments);
  if (mode == FenceMode::by_template && TRIGGER_FIRED_FOR_ROW(call->tg_event))
    fence->parsed = parse_template(fence->arguments.lease, call->tg_relation);
  if (mode == FenceMode::by_column && TRIGGER_FIRED_FOR_ROW(call->tg_event))
    fence->column = fence_column(call->tg_relation, fence->arguments.column);
  MemoryContextSwitchTo(context);
  fcinfo->flinfo->fn_extra = fence;
  return fence;
}

const TriggerData *trigger_call(FunctionCallInfo fcinfo) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("not called as a trigger")));
  return reinterpret_cast<const TriggerData *>(fcinfo->context);
}

Fence *fence_of(FunctionCallInfo fcinfo, const TriggerData *call, FenceMode mode) {
  return fcinfo->flinfo->fn_extra != nullptr ? static_cast<Fence *>(fcinfo->flinfo->fn_extra)
                                             : new_fence(fcinfo, call, mode);
}

// What a logical worker applies was judged where it was written.
bool lets_through(const Fence *fence) { return fence->exempt || IsLogicalWorker(); }

// The row goes on as it is.
Datum unchanged(const TriggerData *call) {
  if (!TRIGGER_FIRED_FOR_ROW(call->tg_event))
    return PointerGetDatum(nullptr);
  return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newtuple : call->tg_trigtuple);
}

void count(const TriggerData *call, std::string_view name, int64 token, int64 mark, RefusalReason reason) {
  const LeaseName lease{cstring_to_text_with_len(name.data(), static_cast<int>(name.size()))};
  count_refusal({RelationGetRelid(call->tg_relation), name.empty() ? nullptr : &lease, token, mark, reason});
}

int hint_use(std::string_view name) {
  if (ended_alone(name))
    return errhint(
        "The use of its token has ended with a transaction of its own. Begin one, call gatepost.fence_use(), "
        "and write, before it commits.");
  return errhint("Call gatepost.fence_use() in an earlier statement of the same transaction.");
}

[[noreturn]] void refuse_unused(const TriggerData *call, std::string_view name) {
  count(call, name, 0, 0, RefusalReason::token_required);
  constexpr int most = 128;
  const int size = static_cast<int>(name.size());
  const int shown = pg_mbcliplen(name.data(), size, most);
  ereport(ERROR, (errcode(token_required),
                  errmsg("no token of lease \"%.*s%s\" is in use", shown, name.data(), size > shown ? "..." : ""),
                  errdetail("Relation \"%s\" is protected by that lease.", RelationGetRelationName(call->tg_relation)),
                  hint_use(name)));
}

[[noreturn]] void refuse_truncate(const TriggerData *call) {
  count(call, {}, 0, 0, RefusalReason::token_required);
  ereport(ERROR, (errcode(token_required),
                  errmsg("cannot truncate relation \"%s\": its rows are protected one by one",
                         RelationGetRelationName(call->tg_relation)),
                  errhint("Delete the rows, or truncate as an exempt role.")));
}

void require_use(const TriggerData *call, std::string_view name) {
  if (token_asked_for(name) == 0)
    refuse_unused(call, name);
}

void require_use_of_row(Fence *fence, const TriggerData *call, HeapTuple row) {
  // Most statements are about one name.
  const bool known = fence->version == uses_version();
  if (names_the_same(&fence->parsed, call->tg_relation, row) && known)
    return;
  const std::string_view name = name_of_row(fence->parsed, call->tg_relation, row);
  if (known && name == std::string_view(fence->name, fence->name_size))
    return;
  require_use(call, name);
  fence->version = uses_version();
  fence->name_size = static_cast<int>(name.size());
  memcpy(fence->name, name.data(), name.size());
}

// A mark of another lease's token would lock this one's holder out.
void require_token_of_use(const Fence *fence, const TriggerData *call, int64 token) {
  const char *lease = fence->arguments.lease;
  require_use(call, lease);
  // Permits of one semaphore are of one name, and several can be in use.
  if (fence->arguments.issuer != Issuer::gatepost || uses_token(lease, token) || mutant("other_tokens_stamped"))
    return;
  const int64 used = token_in_use(lease);
  count(call, lease, token, used, RefusalReason::token_of_other_lease);
  ereport(ERROR,
          (errcode(token_of_other_lease),
           errmsg("token %lld is not the one of lease \"%s\" that is in use", static_cast<long long>(token), lease),
           errdetail("Relation \"%s\" is protected by that lease, and token %lld of it is in use.",
                     RelationGetRelationName(call->tg_relation), static_cast<long long>(used))));
}

// The token that rows are stamped with: never the value that a statement writes, since an ORM writes back what it has
// just read.
int64 stamp(Fence *fence, const TriggerData *call) {
  const Oid relation = RelationGetRelid(call->tg_relation);
  const char *lease = fence->arguments.lease;
  const int64 running = token_of_running_update(relation);
  if (running != 0) {
    // The row's mark knows no grant after which nobody has written the row yet.
    if (lease[0] != '\0' && !mutant("own_token_for_lease"))
      require_token_of_use(fence, call, running);
    return running;
  }
  if (fence->version == uses_version())
    return fence->token;
  int used = 1;
  fence->token = lease[0] != '\0' ? token_asked_for(lease) : only_token_asked_for(&used);
  if (fence->token == 0 && lease[0] != '\0')
    refuse_unused(call, lease);
  if (fence->token == 0) {
    count(call, {}, 0, 0, RefusalReason::token_required);
    ereport(ERROR, (errcode(token_required),
                    used == 0 ? errmsg("no token is in use") : errmsg("%d tokens are in use, one is needed", used),
                    errdetail("The rows of relation \"%s\" are protected by column \"%s\".",
                              RelationGetRelationName(call->tg_relation), fence->arguments.column),
                    used == 0 ? hint_use({})
                              : errhint("Protect the table with a lease too, or use one token in a transaction.")));
  }
  fence->version = uses_version();
  return fence->token;
}

void require_not_stale(const Fence *fence, const TriggerData *call, int64 token) {
  bool isnull;
  const int64 mark =
      DatumGetInt64(heap_getattr(call->tg_trigtuple, fence->column, RelationGetDescr(call->tg_relation), &isnull));
  if (isnull || mutant("marks_unread"))
    return;
  const char *relation = RelationGetRelationName(call->tg_relation);
  if (mark > token) {
    count(call, fence->arguments.lease, token, mark, RefusalReason::stale_token);
    ereport(ERROR, (errcode(stale_token), errmsg("token %lld is stale", static_cast<long long>(token)),
                    errdetail("Token %lld is older than %lld, with which the row of \"%s\" was written.",
                              static_cast<long long>(token), static_cast<long long>(mark), relation),
                    hint_superseded()));
  }
  if (fence->arguments.issuer == Issuer::gatepost && split(mark, token))
    refuse_split(mark, token, "relation", relation);
}

HeapTuple stamped(const Fence *fence, const TriggerData *call, HeapTuple row, int64 token) {
  const TupleDesc description = RelationGetDescr(call->tg_relation);
  bool isnull;
  const Datum now = heap_getattr(row, fence->column, description, &isnull);
  if (!isnull && DatumGetInt64(now) == token)
    return row;
  int column = fence->column;
  Datum value = Int64GetDatum(token);
  bool null = false;
  return heap_modify_tuple_by_cols(row, description, 1, &column, &value, &null);
}

} // namespace

GATEPOST_FUNCTION(fence_by_lease) {
  const TriggerData *call = trigger_call(fcinfo);
  Fence *fence = fence_of(fcinfo, call, FenceMode::by_lease);
  if (fence->version == uses_version() || mutant("fences_open"))
    return unchanged(call);
  if (!lets_through(fence))
    require_use(call, fence->arguments.lease);
  fence->version = uses_version();
  return unchanged(call);
}

// After the row: its final values, whatever other triggers have made of it.
GATEPOST_FUNCTION(fence_by_template) {
  const TriggerData *call = trigger_call(fcinfo);
  Fence *fence = fence_of(fcinfo, call, FenceMode::by_template);
  if (lets_through(fence))
    return unchanged(call);
  if (!TRIGGER_FIRED_FOR_ROW(call->tg_event))
    refuse_truncate(call);
  require_use_of_row(fence, call, call->tg_trigtuple);
  if (TRIGGER_FIRED_BY_UPDATE(call->tg_event) && !mutant("new_names_unchecked"))
    require_use_of_row(fence, call, call->tg_newtuple);
  return unchanged(call);
}

GATEPOST_FUNCTION(fence_by_column) {
  const TriggerData *call = trigger_call(fcinfo);
  Fence *fence = fence_of(fcinfo, call, FenceMode::by_column);
  if (lets_through(fence))
    return unchanged(call);
  if (!TRIGGER_FIRED_FOR_ROW(call->tg_event))
    refuse_truncate(call);
  const int64 token = stamp(fence, call);
  if (!TRIGGER_FIRED_BY_INSERT(call->tg_event))
    require_not_stale(fence, call, token);
  if (TRIGGER_FIRED_BY_DELETE(call->tg_event))
    return unchanged(call);
  HeapTuple row = TRIGGER_FIRED_BY_UPDATE(call->tg_event) ? call->tg_newtuple : call->tg_trigtuple;
  return PointerGetDatum(mutant("marks_by_writer") ? row : stamped(fence, call, row, token));
}
