// What the guards of the extension's tables say to statements that are not the extension's own.
#pragma once

#include "pg.hpp"

namespace gatepost {

[[noreturn]] inline void refuse_statement(Relation rel) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("rows of gatepost.%s are changed by the functions of gatepost only", RelationGetRelationName(rel))));
}

} // namespace gatepost
