#include "client.hpp"

namespace gatepost {

bool client_address(Datum *address) {
  LOCAL_FCINFO(call, 0);
  InitFunctionCallInfoData(*call, nullptr, 0, InvalidOid, nullptr, nullptr);
  *address = inet_client_addr(call);
  return !call->isnull;
}

text *client_label(const char *application, Datum address, bool has_address, int pid) {
  const char *host = has_address ? TextDatumGetCString(DirectFunctionCall1(network_host, address)) : "local";
  return cstring_to_text(psprintf("%s@%s/%d", application != nullptr ? application : "", host, pid));
}

} // namespace gatepost
