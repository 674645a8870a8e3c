// SQL doors: protecting tables.
#include "arguments.hpp"
#include "edge.hpp"
#include "fence_template.hpp"
#include "protect.hpp"
#include "protection.hpp"
#include "rights.hpp"

using namespace gatepost;

namespace {

const char *optional_text(FunctionCallInfo fcinfo, int index) {
  return PG_ARGISNULL(index) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(index));
}

List *exempt_argument(FunctionCallInfo fcinfo, int index) {
  require_argument(fcinfo, index, "exempt");
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(index);
  Datum *roles;
  bool *nulls;
  int count;
  deconstruct_array(array, REGROLEOID, sizeof(Oid), true, TYPALIGN_INT, &roles, &nulls, &count);
  List *names = NIL;
  for (int i = 0; i < count; i++) {
    if (nulls[i])
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("exempt must not contain null")));
    const char *name = GetUserNameFromId(DatumGetObjectId(roles[i]), true);
    if (name == nullptr)
      ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                      errmsg("exempt names a role with oid %u, which does not exist", DatumGetObjectId(roles[i]))));
    names = lappend(names, pstrdup(name));
  }
  return names;
}

} // namespace

GATEPOST_FUNCTION(fence_protect) {
  require_changing("fence_protect()");
  require_argument(fcinfo, 0, "target");
  ProtectRequest request;
  request.target = PG_GETARG_OID(0);
  request.lease = optional_text(fcinfo, 1);
  request.column = PG_ARGISNULL(2) ? nullptr : NameStr(*PG_GETARG_NAME(2));
  request.issuer = issuer_argument(fcinfo, 3);
  request.exempt = exempt_argument(fcinfo, 4);
  protect_table(request);
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(fence_unprotect) {
  require_changing("fence_unprotect()");
  require_argument(fcinfo, 0, "target");
  unprotect_table(PG_GETARG_OID(0));
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(fences_follow_ddl) {
  if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
    ereport(ERROR,
            (errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED), errmsg("not called as an event trigger")));
  follow_ddl(reinterpret_cast<const EventTriggerData *>(fcinfo->context)->parsetree);
  PG_RETURN_NULL();
}
