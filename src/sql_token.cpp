// SQL doors: tokens, generation, version.
#include "arguments.hpp"
#include "edge.hpp"
#include "errors.hpp"
#include "guards.hpp"
#include "identity.hpp"
#include "mutant.hpp"
#include "relations.hpp"
#include "rights.hpp"
#include "token.hpp"
#include "token_layout.hpp"

using namespace gatepost;

GATEPOST_FUNCTION(token_draw) {
  require_changing("token_draw()");
  require_administrator("token_draw()");
  ensure_identity();
  const Oid sequence = lock_sequence();
  const int64 token = draw_token(sequence);
  flush_tokens(sequence, token);
  unlock_sequence(sequence);
  PG_RETURN_INT64(token);
}

GATEPOST_FUNCTION(token_generation) { PG_RETURN_INT32(static_cast<int32>(generation_of(last_token()))); }

GATEPOST_FUNCTION(token_raise_generation) {
  require_changing("token_raise_generation()");
  require_administrator("token_raise_generation()");
  const int64 above = PG_ARGISNULL(0) ? 0 : token_argument(fcinfo, 0, "above");
  if (generation_of(above) > max_raised_generation)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("above %lld is of generation %lld, at most %lld can be raised above", static_cast<long long>(above),
                    static_cast<long long>(generation_of(above)), static_cast<long long>(max_raised_generation)),
             errdetail("The generations after it, up to %lld, are kept for later raises.",
                       static_cast<long long>(max_generation))));
  PG_RETURN_INT32(static_cast<int32>(raise_generation(above)));
}

GATEPOST_FUNCTION(library_version) { PG_RETURN_TEXT_P(cstring_to_text(GATEPOST_VERSION)); }

// BEFORE INSERT on floor: a dump carries the highest token as its one row, and loading it raises the generation above
// it instead of storing anything.
GATEPOST_FUNCTION(floor_loaded) {
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  // On any other table it would give whoever may create a trigger the right to raise.
  if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
      !TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
      (!is_floor(RelationGetRelid(trigger->tg_relation)) && !mutant("floor_anywhere")))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("floor_loaded() is for inserts into gatepost.floor only")));
  // Another server's tokens are not for here.
  if (IsLogicalWorker())
    refuse_statement(trigger->tg_relation);
  bool isnull;
  const int64 token =
      DatumGetInt64(heap_getattr(trigger->tg_trigtuple, 1, RelationGetDescr(trigger->tg_relation), &isnull));
  if (isnull || token < 1 || generation_of(token) > max_raised_generation)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("token %lld of gatepost.floor is out of range", static_cast<long long>(token))));
  if (!mutant("floor_ignored"))
    raise_generation(token);
  return PointerGetDatum(nullptr);
}

// BEFORE any DML: rows that are read and written directly must not be changed by statements.
GATEPOST_FUNCTION(refuse_dml) {
  if (!CALLED_AS_TRIGGER(fcinfo))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("not called as a trigger")));
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  refuse_statement(trigger->tg_relation);
}
