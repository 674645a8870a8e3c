#include "fence_arguments.hpp"

namespace gatepost {

bool read_fence_arguments(FenceMode mode, int count, char **arguments, FenceArguments *result) {
  *result = {mode, "", "", Issuer::gatepost, 0, nullptr};
  const int fixed = mode == FenceMode::by_column ? 3 : 1;
  if (count < fixed)
    return false;
  result->exempt_count = count - fixed;
  result->exempt = arguments + fixed;
  if (mode != FenceMode::by_column) {
    result->lease = arguments[0];
    return result->lease[0] != '\0';
  }
  result->column = arguments[0];
  result->issuer = strcmp(arguments[1], issuer_name(Issuer::any)) == 0 ? Issuer::any : Issuer::gatepost;
  result->lease = arguments[2];
  return strcmp(arguments[1], issuer_name(result->issuer)) == 0;
}

FenceFunctions fence_functions_here() {
  FenceFunctions result{};
  const Oid schema = get_namespace_oid("gatepost", true);
  if (!OidIsValid(schema))
    return result;
  oidvector *no_arguments = buildoidvector(nullptr, 0);
  for (int i = 0; i < fence_mode_count; i++)
    result.oid[i] = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(fence_functions[i]),
                                    PointerGetDatum(no_arguments), ObjectIdGetDatum(schema));
  return result;
}

bool takes_any_issuer(Relation rel, const char *column) {
  if (rel->trigdesc == nullptr)
    return false;
  const Oid by_column = fence_functions_here().oid[static_cast<int>(FenceMode::by_column)];
  for (int i = 0; i < rel->trigdesc->numtriggers; i++) {
    const Trigger &trigger = rel->trigdesc->triggers[i];
    FenceArguments arguments;
    if (trigger.tgfoid == by_column &&
        read_fence_arguments(FenceMode::by_column, trigger.tgnargs, trigger.tgargs, &arguments) &&
        strcmp(arguments.column, column) == 0)
      return arguments.issuer == Issuer::any;
  }
  return false;
}

} // namespace gatepost
