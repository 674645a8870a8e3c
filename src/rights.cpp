#include "rights.hpp"

#include "lease_state.hpp"
#include "mutant.hpp"
#include "relations.hpp"

namespace gatepost {

void require_changing(const char *function) {
  if (!mutant("read_only_allowed"))
    PreventCommandIfReadOnly(function);
  PreventCommandDuringRecovery(function);
  PreventCommandIfParallelMode(function);
  if (InSecurityRestrictedOperation())
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("cannot execute %s within a security-restricted operation", function)));
}

bool is_administrator(Oid role) { return pg_class_aclcheck(slots_relation(), role, ACL_UPDATE) == ACLCHECK_OK; }

bool is_administrator() { return is_administrator(GetUserId()); }

void require_administrator(const char *function) {
  if (is_administrator() || mutant("administrators_unchecked"))
    return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for %s", function),
                  errdetail("The role is not an administrator of Gatepost.")));
}

void require_monitor(const char *function) {
  if (has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) || is_administrator() || mutant("monitors_unchecked"))
    return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for %s", function),
                  errdetail("The role is neither a member of pg_monitor nor an administrator of Gatepost.")));
}

void require_member(const SlotData &row, LeaseName name) {
  if (has_privs_of_role(GetUserId(), row.role) || mutant("roles_unchecked"))
    return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                  errmsg("permission denied for %s \"%s\"", called(row.kind), printable(name)),
                  errdetail("It was taken by a role that the current one is not a member of.")));
}

} // namespace gatepost
