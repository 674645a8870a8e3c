// What the guards of the extension's tables say to statements that are not the extension's own.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

// The calls that change rows of the table; nullptr where nobody needs to.
inline const char *way_out(std::string_view table) {
  constexpr struct {
    std::string_view table;
    const char *calls;
  } ways[] = {
      {"lease_slots", "gatepost.lease_release(), gatepost.lease_break() or gatepost.lease_purge()"},
      {"queue", "gatepost.lease_unqueue() or gatepost.lease_unwatch()"},
      {"marks", "gatepost.fence_advance()"},
      {"claims", "gatepost.fence_purge()"},
      {"name_rules", "gatepost.rule_add() or gatepost.rule_drop()"},
      {"refusal_counters", "gatepost.refusals_reset()"},
  };
  for (const auto &way : ways)
    if (way.table == table)
      return way.calls;
  return nullptr;
}

[[noreturn]] inline void refuse_statement(Relation rel) {
  const char *table = RelationGetRelationName(rel);
  const char *calls = way_out(table);
  ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                  errmsg("rows of gatepost.%s are changed by the functions of gatepost only", table),
                  calls != nullptr ? errhint("Call %s.", calls) : 0));
}

} // namespace gatepost
