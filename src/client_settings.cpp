#include "client_settings.hpp"

#include "mutant.hpp"
#include "pg.hpp"

namespace gatepost {
namespace {

// All of PGC_SUSET.
constexpr const char *of_administrators[] = {"gatepost.max_ttl", "gatepost.durability_floor", "gatepost.log_refusals",
                                             "gatepost.history_retention", "gatepost.closed_after_lapse"};

} // namespace

void refuse_client_settings() {
  for (const char *name : of_administrators) {
    const config_generic *setting = pg::find_setting(name);
    if (setting == nullptr || setting->reset_source != PGC_S_CLIENT ||
        pg_parameter_aclcheck(name, setting->reset_srole, ACL_SET) == ACLCHECK_OK || mutant("client_settings_dropped"))
      continue;
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied to set parameter \"%s\"", name),
                    errdetail("It came with the connection."), errhint("Connect without it.")));
  }
}

} // namespace gatepost
