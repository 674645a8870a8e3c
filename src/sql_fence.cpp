// SQL doors: fences.
#include "arguments.hpp"
#include "edge.hpp"
#include "fence.hpp"
#include "fenced_update.hpp"
#include "rights.hpp"
#include "rules.hpp"

using namespace gatepost;

namespace {

Jsonb *object_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  Jsonb *document = PG_GETARG_JSONB_P(index);
  if (!JB_ROOT_IS_OBJECT(document))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must be a jsonb object", argument)));
  return document;
}

} // namespace

GATEPOST_FUNCTION(fence_use) {
  require_changing("fence_use()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::hold);
  const int64 token = token_argument(fcinfo, 1, "token");
  require_argument(fcinfo, 2, "live");
  use_lease(name, token, PG_GETARG_BOOL(2));
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(fenced_update) {
  require_changing("fenced_update()");
  require_argument(fcinfo, 0, "target");
  require_argument(fcinfo, 4, "fence_column");
  const FencedUpdate update{PG_GETARG_OID(0),
                            object_argument(fcinfo, 1, "key"),
                            object_argument(fcinfo, 2, "changes"),
                            foreign_token_argument(fcinfo, 3, "token"),
                            NameStr(*PG_GETARG_NAME(4)),
                            false};
  PG_RETURN_BOOL(fenced_update(update));
}
