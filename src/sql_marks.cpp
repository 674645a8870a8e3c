// SQL doors: marks and claims for what is outside the database, and the guards of their tables.
#include "arguments.hpp"
#include "claims.hpp"
#include "durability.hpp"
#include "edge.hpp"
#include "guards.hpp"
#include "marks.hpp"
#include "mutant.hpp"
#include "owned_statement.hpp"
#include "rights.hpp"
#include "rules.hpp"
#include "token.hpp"

using namespace gatepost;

namespace {

struct Asked {
  LeaseName resource;
  int64 token;
  Issuer issuer;
};

// What fence_advance and fence_claim have in common, checked before any look or lock.
Asked asked(FunctionCallInfo fcinfo, int token_index) {
  const LeaseName resource = name_argument(fcinfo, 0, "resource");
  require_action(resource, Action::hold);
  const Issuer issuer = issuer_argument(fcinfo, token_index + 1);
  const int64 token = issuer == Issuer::any ? foreign_token_argument(fcinfo, token_index, "token")
                                            : token_argument(fcinfo, token_index, "token");
  return {resource, token, issuer};
}

void require_drawn(const Asked &asked) {
  if (asked.issuer == Issuer::gatepost)
    require_known_token(asked.token);
}

// The trigger's data; on any other table it would give whoever may create a trigger the owner's rights.
TriggerData *trigger_on(FunctionCallInfo fcinfo, const char *table) {
  auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
      RelationGetRelid(trigger->tg_relation) != owned_table(table))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("guard_%s() is for statements on gatepost.%s only", table, table)));
  return trigger;
}

HeapTuple passed(const TriggerData *trigger) {
  return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
}

// A row that a dump brings; what another server sends by logical replication is not for here.
bool is_loading(const TriggerData *trigger) {
  return TRIGGER_FIRED_FOR_ROW(trigger->tg_event) && TRIGGER_FIRED_BY_INSERT(trigger->tg_event) && !IsLogicalWorker();
}

Datum column(const TriggerData *trigger, const char *name, bool *isnull) {
  const TupleDesc description = RelationGetDescr(trigger->tg_relation);
  return SPI_getbinval(trigger->tg_trigtuple, description, SPI_fnumber(description, name), isnull);
}

LeaseName name_in(Datum value) { return LeaseName{DatumGetTextPP(value)}; }

} // namespace

GATEPOST_FUNCTION(fence_advance) {
  require_changing("fence_advance()");
  const Asked advance = asked(fcinfo, 1);
  require_drawn(advance);
  PG_RETURN_BOOL(advance_mark(advance.resource, advance.token, advance.issuer).accepted);
}

GATEPOST_FUNCTION(fence_claim) {
  require_changing("fence_claim()");
  const Asked advance = asked(fcinfo, 2);
  const LeaseName key = name_argument(fcinfo, 1, "key");
  require_drawn(advance);
  PG_RETURN_BOOL(claim(advance.resource, key, advance.token, advance.issuer));
}

GATEPOST_FUNCTION(fence_mark) {
  const LeaseName resource = name_argument(fcinfo, 0, "resource");
  require_action(resource, Action::see);
  const int64 mark = mark_of(resource);
  if (mark == 0)
    PG_RETURN_NULL();
  PG_RETURN_INT64(mark);
}

GATEPOST_FUNCTION(fence_purge) {
  require_changing("fence_purge()");
  require_administrator("fence_purge()");
  const int64 older_than = duration_argument(fcinfo, 0, "older_than");
  require_argument(fcinfo, 1, "resource_prefix");
  PG_RETURN_INT64(purge_claims(older_than, PG_GETARG_TEXT_PP(1)));
}

GATEPOST_FUNCTION(guard_marks) {
  const TriggerData *trigger = trigger_on(fcinfo, "marks");
  if (writing_rows() || mutant("marks_unguarded"))
    return PointerGetDatum(passed(trigger));
  if (!is_loading(trigger))
    refuse_statement(trigger->tg_relation);
  bool no_resource, no_token, no_issuer;
  const Datum resource = column(trigger, "resource", &no_resource);
  const Datum token = column(trigger, "token", &no_token);
  const Datum issuer = column(trigger, "issuer", &no_issuer);
  // The table's own constraints refuse it.
  if (no_resource || no_token || no_issuer)
    return PointerGetDatum(passed(trigger));
  const bool stored = load_mark(name_in(resource), DatumGetInt64(token), issuer_of(name_in(issuer)));
  return PointerGetDatum(stored ? passed(trigger) : nullptr);
}

GATEPOST_FUNCTION(guard_claims) {
  const TriggerData *trigger = trigger_on(fcinfo, "claims");
  if (writing_rows())
    return PointerGetDatum(passed(trigger));
  if (!is_loading(trigger))
    refuse_statement(trigger->tg_relation);
  bool no_resource, no_key;
  const Datum resource = column(trigger, "resource", &no_resource);
  const Datum key = column(trigger, "key", &no_key);
  if (!no_resource && !no_key && is_claimed(name_in(resource), name_in(key)))
    return PointerGetDatum(nullptr);
  note_durable_change();
  return PointerGetDatum(passed(trigger));
}
