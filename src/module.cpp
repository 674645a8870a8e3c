// What happens when the library is loaded into a backend.
#include "arguments.hpp"
#include "client_settings.hpp"
#include "durability.hpp"
#include "fenced_shapes.hpp"
#include "history.hpp"
#include "late_calls.hpp"
#include "lease_state.hpp"
#include "pg.hpp"
#include "refusals.hpp"
#include "relations.hpp"
#include "rungs.hpp"
#include "testpoint.hpp"
#include "uses.hpp"
#include "waiters.hpp"

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
  using namespace gatepost;
  refuse_client_settings();
  DefineCustomIntVariable("gatepost.max_ttl", "The longest time to live that a lease may ask for.", nullptr,
                          &max_ttl_seconds, 86400, 1, INT_MAX / 2, PGC_SUSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("gatepost.closed_after_lapse", "How long a name stays closed after its lease has lapsed.",
                          "For receivers that cannot check tokens. At most gatepost.max_ttl counts.",
                          &closed_after_lapse_ms, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
  register_durability();
  register_fenced_shapes();
  register_history();
  register_late_calls();
  register_refusals();
  define_test_settings();
  MarkGUCPrefixReserved("gatepost");
  register_relation_callbacks();
  register_rung_callbacks();
  register_use_callbacks();
  register_waking();
}
