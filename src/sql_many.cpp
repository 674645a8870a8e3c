// SQL doors: many leases in one call, and asking for a lease.
#include "edge.hpp"
#include "lease_many.hpp"
#include "mutant.hpp"
#include "rights.hpp"
#include "rules.hpp"
#include "yield.hpp"

#include <algorithm>

using namespace gatepost;

namespace {

struct HeldLeases {
  HeldLease *leases;
  int count;
};

bool before(const HeldLease &a, const HeldLease &b) {
  const int order = a.name.bytes().compare(b.name.bytes());
  return order != 0 ? order < 0 : a.token < b.token;
}

// Permits of a semaphore have one name and a token each.
bool same(const HeldLease &a, const HeldLease &b) { return a.name.bytes() == b.name.bytes() && a.token == b.token; }

[[noreturn]] void refuse_duplicate(LeaseName name) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("name \"%s\" is in names more than once", printable(name))));
}

// Sorts names and raises 22023 when one is there twice.
void refuse_duplicates(const LeaseName *names, int count) {
  auto *sorted = static_cast<LeaseName *>(palloc(sizeof(LeaseName) * count));
  std::copy_n(names, count, sorted);
  std::sort(sorted, sorted + count, [](const LeaseName &a, const LeaseName &b) { return a.bytes() < b.bytes(); });
  for (int i = 1; i < count; i++)
    if (sorted[i].bytes() == sorted[i - 1].bytes())
      refuse_duplicate(sorted[i]);
  pfree(sorted);
}

// Sorted by name and token. Names that the rules keep from the caller are told as absent ones are, without a look.
HeldLeases held_leases(FunctionCallInfo fcinfo) {
  int count;
  int token_count;
  const LeaseName *names = names_argument(fcinfo, 0, &count);
  const int64 *tokens = tokens_argument(fcinfo, 1, &token_count);
  if (count != token_count)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("names has %d elements and tokens has %d", count, token_count)));
  auto *leases = static_cast<HeldLease *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HeldLease) * count));
  refresh_rules();
  for (int i = 0; i < count; i++) {
    const bool allowed = permitted(names[i].bytes(), Action::hold) || mutant("many_unruled");
    leases[i] = {names[i], tokens[i], allowed ? Told::nothing : Told::lost, allowed ? nullptr : "unknown"};
  }
  std::sort(leases, leases + count, before);
  for (int i = 1; i < count; i++)
    if (same(leases[i], leases[i - 1]) && !mutant("duplicates_taken"))
      refuse_duplicate(leases[i].name);
  return {leases, count};
}

const char *told_name(Told told) {
  return told == Told::lost ? "lost" : told == Told::in_flight ? "in_flight" : "yield";
}

void put_told(FunctionCallInfo fcinfo, const HeldLeases &held) {
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  for (int i = 0; i < held.count; i++) {
    const HeldLease &lease = held.leases[i];
    if (lease.told == Told::nothing || (lease.told == Told::lost && mutant("losses_untold")))
      continue;
    Datum values[] = {PointerGetDatum(lease.name.value), Int64GetDatum(lease.token),
                      CStringGetTextDatum(told_name(lease.told)),
                      lease.detail != nullptr ? CStringGetTextDatum(lease.detail) : Datum{0}};
    bool nulls[] = {false, false, false, lease.detail == nullptr};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  }
}

} // namespace

GATEPOST_FUNCTION(lease_acquire_all) {
  constexpr int most = 10000;
  require_changing("lease_acquire_all()");
  int count;
  const LeaseName *names = names_argument(fcinfo, 0, &count);
  if (count > most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("names has %d elements, at most %d are allowed", count, most)));
  refuse_duplicates(names, count);
  for (int i = 0; i < count; i++)
    require_action(names[i], Action::hold);
  AcquireRequest request;
  request.ttl = ttl_argument(fcinfo, 1);
  request.wait = wait_argument(fcinfo, 2);
  request.owner = owner_argument(fcinfo, 3);
  request.metadata = metadata_argument(fcinfo, 4);
  request.request_id = request_id_argument(fcinfo, 5);
  auto *tokens = static_cast<int64 *>(palloc(sizeof(int64) * count));
  if (count > 0 && !acquire_all(names, count, request, tokens))
    PG_RETURN_NULL();
  auto *values = static_cast<Datum *>(palloc(sizeof(Datum) * count));
  for (int i = 0; i < count; i++)
    values[i] = Int64GetDatum(tokens[i]);
  PG_RETURN_ARRAYTYPE_P(construct_array(values, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

GATEPOST_FUNCTION(lease_renew_many) {
  require_changing("lease_renew_many()");
  const HeldLeases held = held_leases(fcinfo);
  const int64 ttl = PG_ARGISNULL(2) ? 0 : ttl_argument(fcinfo, 2);
  InitMaterializedSRF(fcinfo, 0);
  if (held.count > 0)
    renew_leases(held.leases, held.count, ttl);
  put_told(fcinfo, held);
  return Datum{0};
}

GATEPOST_FUNCTION(lease_release_many) {
  require_changing("lease_release_many()");
  const HeldLeases held = held_leases(fcinfo);
  InitMaterializedSRF(fcinfo, 0);
  if (held.count > 0)
    release_leases(held.leases, held.count);
  put_told(fcinfo, held);
  return Datum{0};
}

GATEPOST_FUNCTION(lease_request_yield) {
  require_changing("lease_request_yield()");
  const LeaseName name = name_argument(fcinfo, 0);
  require_action(name, Action::see);
  PG_RETURN_BOOL(request_yield(name, short_reason_argument(fcinfo, 1)));
}
