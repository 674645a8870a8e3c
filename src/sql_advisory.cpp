// SQL doors: the advisory rung.
#include "advisory.hpp"
#include "arguments.hpp"
#include "edge.hpp"
#include "hash.hpp"
#include "mutant.hpp"
#include "rules.hpp"

using namespace gatepost;

namespace {

// On a standby the server would grant them, apart from the primary.
void require_rung_allowed(const char *function) {
  if (!mutant("rungs_on_standby"))
    PreventCommandDuringRecovery(function);
  if (!mutant("rungs_in_workers"))
    PreventCommandIfParallelMode(function);
  if (InSecurityRestrictedOperation())
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("cannot execute %s within a security-restricted operation", function)));
}

bool shared_argument(FunctionCallInfo fcinfo, int index) {
  require_argument(fcinfo, index, "shared");
  return PG_GETARG_BOOL(index);
}

Datum lock(FunctionCallInfo fcinfo, RungScope scope, const char *function) {
  require_rung_allowed(function);
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  take_rung({name, scope, shared_argument(fcinfo, 1), -1});
  PG_RETURN_VOID();
}

Datum try_lock(FunctionCallInfo fcinfo, RungScope scope, const char *function) {
  require_rung_allowed(function);
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  const int64 wait = duration_argument(fcinfo, 1, "wait");
  PG_RETURN_BOOL(take_rung({name, scope, shared_argument(fcinfo, 2), wait}));
}

} // namespace

GATEPOST_FUNCTION(advisory_xact_lock) { return lock(fcinfo, RungScope::transaction, "advisory_xact_lock()"); }

GATEPOST_FUNCTION(advisory_lock) { return lock(fcinfo, RungScope::session, "advisory_lock()"); }

GATEPOST_FUNCTION(try_advisory_xact_lock) {
  return try_lock(fcinfo, RungScope::transaction, "try_advisory_xact_lock()");
}

GATEPOST_FUNCTION(try_advisory_lock) { return try_lock(fcinfo, RungScope::session, "try_advisory_lock()"); }

GATEPOST_FUNCTION(advisory_unlock) {
  require_rung_allowed("advisory_unlock()");
  // No rule is asked: what one has may be given back, and of another's it tells nothing.
  const LeaseName name = name_argument(fcinfo, 0);
  unlock_rung(name, shared_argument(fcinfo, 1));
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(advisory_key) { PG_RETURN_INT64(static_cast<int64>(key_of(name_argument(fcinfo, 0)))); }

GATEPOST_FUNCTION(advisory_known) {
  InitMaterializedSRF(fcinfo, 0);
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  ListCell *cell;
  foreach (cell, known_rungs()) {
    const Rung *rung = static_cast<Rung *>(lfirst(cell));
    Datum values[] = {Int64GetDatum(static_cast<int64>(rung->key)),
                      PointerGetDatum(cstring_to_text_with_len(rung->name, rung->name_size)),
                      CStringGetTextDatum(rung->shared ? "shared" : "exclusive"),
                      CStringGetTextDatum(rung->scope == RungScope::session ? "session" : "transaction")};
    bool nulls[4] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
  return Datum{0};
}
