// The edge guard: every SQL-callable function is one call into it, so that no C++ exception reaches the server and
// no server error is raised from inside a catch arm (the C++ runtime would believe the exception still in flight).
#pragma once

#include "pg.hpp"

namespace gatepost {

using Body = Datum (*)(FunctionCallInfo);

// Runs the body; a C++ exception is raised again as a server error after the last catch arm.
Datum run_at_edge(Body body, FunctionCallInfo fcinfo);

} // namespace gatepost

// GATEPOST_FUNCTION(name) { .. uses fcinfo, returns a Datum .. } defines gatepost_name for the SQL scripts.
#define GATEPOST_FUNCTION(name)                                                                                        \
  static Datum name##_body(FunctionCallInfo fcinfo);                                                                   \
  extern "C" {                                                                                                         \
  PG_FUNCTION_INFO_V1(gatepost_##name);                                                                                \
  PGDLLEXPORT Datum gatepost_##name(FunctionCallInfo fcinfo) { return gatepost::run_at_edge(name##_body, fcinfo); }    \
  }                                                                                                                    \
  static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
