#include "fenced_update.hpp"

#include "errors.hpp"
#include "fence_arguments.hpp"
#include "fenced_statement.hpp"
#include "mutant.hpp"
#include "refusals.hpp"
#include "split_history.hpp"
#include "token.hpp"

namespace gatepost {
namespace {

// Prepared statements by their text. The server revalidates them when a table or the search_path changes.
struct Prepared {
  char *text;
  Oid *types;
  int count;
  SPIPlanPtr plan;
};

constexpr int cache_size = 64;
Prepared cache[cache_size];
int next_victim;

// The calls in progress: a trigger may call fenced_update inside fenced_update. Only the outermost may throw plans
// away, since those of the outer calls are being executed.
struct Running {
  Oid target;
  int64 token;
  const Running *outer;
};

const Running *running;

bool is_nested() { return running != nullptr && running->outer != nullptr; }

bool is_prepared_as(const Prepared &prepared, const char *text, const Parameters &parameters) {
  return prepared.text != nullptr && prepared.count == parameters.count && strcmp(prepared.text, text) == 0 &&
         memcmp(prepared.types, parameters.types, sizeof(Oid) * parameters.count) == 0;
}

SPIPlanPtr prepare(const char *text, const Parameters &parameters) {
  SPIPlanPtr plan = SPI_prepare(text, parameters.count, parameters.types);
  if (plan == nullptr)
    elog(ERROR, "could not prepare a fenced statement: %s", SPI_result_code_string(SPI_result));
  return plan;
}

SPIPlanPtr plan_for(const char *text, const Parameters &parameters) {
  for (const Prepared &prepared : cache)
    if (is_prepared_as(prepared, text, parameters))
      return prepared.plan;
  SPIPlanPtr plan = prepare(text, parameters);
  if (is_nested() && cache[next_victim].text != nullptr && !mutant("plans_thrown_away"))
    return plan;
  // Copied before the old entry goes, so that an error leaves the cache whole.
  char *kept_text = MemoryContextStrdup(TopMemoryContext, text);
  Oid *types = static_cast<Oid *>(MemoryContextAlloc(TopMemoryContext, sizeof(Oid) * parameters.count));
  memcpy(types, parameters.types, sizeof(Oid) * parameters.count);
  SPI_keepplan(plan);
  Prepared &victim = cache[next_victim];
  next_victim = (next_victim + 1) % cache_size;
  const Prepared old = victim;
  victim = {kept_text, types, parameters.count, plan};
  if (old.text != nullptr) {
    pfree(old.text);
    pfree(old.types);
    SPI_freeplan(old.plan);
  }
  return plan;
}

struct Fence {
  bool isnull;
  int64 mark;
};

Fence returned_fence() {
  bool isnull;
  const Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
  return {isnull, isnull ? 0 : DatumGetInt64(value)};
}

// Runs the statement. Result: whether there was a row, its fence in *fence where that comes back.
bool run(SPIPlanPtr plan, const Parameters &parameters, int expected, Fence *fence) {
  const int code = SPI_execute_plan(plan, parameters.values, nullptr, false, 0);
  if (code != expected)
    ereport(ERROR, (errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
                    errmsg("a rule replaced the update: the server answered %s", SPI_result_code_string(code))));
  if (SPI_processed == 0)
    return false;
  if (expected != SPI_OK_UPDATE)
    *fence = returned_fence();
  return true;
}

// The fence of the row as this transaction may see and update it now.
bool probe(const FencedStatement &statement, Fence *fence) {
  return run(plan_for(statement.probe, statement.parameters), statement.parameters, SPI_OK_SELECT, fence);
}

// What the statement calls, the input function of a domain for one, can give the table a trigger or rule that it was
// not built for. None can be taken away while the call has the table open.
void require_unchanged(const FencedStatement &statement, Relation rel) {
  if (!statement.returns_mark && may_change_mark(rel) && !mutant("late_triggers_overlooked"))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("relation \"%s\" was given a trigger or rule while its row was updated",
                           RelationGetRelationName(rel))));
}

bool apply(const FencedUpdate &update, const FencedStatement &statement, Relation rel) {
  const char *relation = pstrdup(RelationGetRelationName(rel));
  // The row may appear between the two statements, with a mark that lets us in; not for ever.
  constexpr int attempts = 3;
  for (int attempt = 0; attempt < attempts; attempt++) {
    Fence fence;
    if (run(plan_for(statement.update, statement.parameters), statement.parameters,
            statement.returns_mark ? SPI_OK_UPDATE_RETURNING : SPI_OK_UPDATE, &fence)) {
      if (statement.returns_mark && (fence.isnull || fence.mark != update.token) && !mutant("lowered_marks_accepted"))
        ereport(ERROR,
                (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
                 errmsg("a trigger of relation \"%s\" changed fence column \"%s\"", relation, update.fence_column)));
      require_unchanged(statement, rel);
      return true;
    }
    if (!probe(statement, &fence))
      return false;
    if (!fence.isnull && fence.mark > update.token) {
      count_refusal({update.target, nullptr, update.token, fence.mark, RefusalReason::stale_token});
      ereport(ERROR, (errcode(stale_token), errmsg("token %lld is stale", static_cast<long long>(update.token)),
                      errdetail("Token %lld is older than %lld, with which the row of \"%s\" was written.",
                                static_cast<long long>(update.token), static_cast<long long>(fence.mark), relation),
                      hint_superseded()));
    }
    if (!fence.isnull && !update.any_issuer && split(fence.mark, update.token))
      refuse_split(fence.mark, update.token, "relation", relation);
  }
  ereport(ERROR, (errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
                  errmsg("the update of relation \"%s\" was suppressed by a trigger or rule", relation)));
}

} // namespace

bool fenced_update(FencedUpdate update) {
  // The lock that the update will ask for: a weaker one first could deadlock with DDL that a plain UPDATE waits for.
  Relation rel = try_relation_open(update.target, RowExclusiveLock);
  if (rel == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("target with oid %u does not exist", update.target)));
  update.any_issuer = takes_any_issuer(rel, update.fence_column);
  if (!update.any_issuer && !is_known_token(update.token))
    count_refusal({update.target, nullptr, update.token, last_token(), RefusalReason::unknown_token});
  if (!update.any_issuer)
    require_known_token(update.token);
  const FencedStatement statement = build_statement(update, rel);
  const Running call{update.target, update.token, running};
  volatile bool applied = false;
  SPI_connect();
  PG_TRY();
  {
    running = &call;
    applied = apply(update, statement, rel);
  }
  PG_FINALLY();
  { running = call.outer; }
  PG_END_TRY();
  SPI_finish();
  relation_close(rel, NoLock);
  return applied;
}

int64 token_of_running_update(Oid relation) {
  for (const Running *call = running; call != nullptr; call = call->outer)
    if (call->target == relation ||
        (get_rel_relispartition(relation) && list_member_oid(get_partition_ancestors(relation), call->target)))
      return call->token;
  return 0;
}

} // namespace gatepost
