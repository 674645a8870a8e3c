#include "claims.hpp"

#include "durability.hpp"
#include "errors.hpp"
#include "marks.hpp"
#include "mutant.hpp"
#include "owned_statement.hpp"

namespace gatepost {
namespace {

constexpr Oid look_types[] = {TEXTOID, TEXTOID};
constexpr Oid row_types[] = {TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID};
constexpr Oid purge_types[] = {TIMESTAMPTZOID, TEXTOID};

OwnedStatement look_statement{
    "claims",
    "SELECT token FROM gatepost.claims WHERE resource OPERATOR(pg_catalog.=) $1 AND key OPERATOR(pg_catalog.=) $2", 2,
    look_types, nullptr};
OwnedStatement insert_statement{"claims",
                                "INSERT INTO gatepost.claims (resource, key, token, claimed_at)"
                                " VALUES ($1, $2, $3, $4) ON CONFLICT (resource, key) DO NOTHING",
                                4, row_types, nullptr};
OwnedStatement purge_statement{"claims",
                               "DELETE FROM gatepost.claims WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
                               "SELECT ctid FROM gatepost.claims WHERE claimed_at OPERATOR(pg_catalog.<=) $1"
                               " AND resource OPERATOR(pg_catalog.>=) $2 AND pg_catalog.starts_with(resource, $2)"
                               " LIMIT 10000 FOR UPDATE SKIP LOCKED))",
                               2, purge_types, nullptr};

} // namespace

bool claim(LeaseName resource, LeaseName key, int64 token, Issuer issuer) {
  const Advance advance = advance_mark(resource, token, issuer);
  if (!advance.accepted)
    ereport(ERROR, (errcode(stale_token), errmsg("token %lld is stale", static_cast<long long>(token)),
                    errdetail("Token %lld is older than %lld, the mark of resource \"%s\".",
                              static_cast<long long>(token), static_cast<long long>(advance.mark), printable(resource)),
                    hint_superseded()));
  if (mutant("claims_repeated"))
    return true;
  // A repetition writes nothing, and is false under REPEATABLE READ too.
  if (is_claimed(resource, key))
    return false;
  Datum values[] = {PointerGetDatum(resource.value), PointerGetDatum(key.value), Int64GetDatum(token),
                    TimestampTzGetDatum(GetCurrentTimestamp())};
  if (write_rows(insert_statement, values) == 0)
    return false;
  if (!mutant("claims_unflushed"))
    note_durable_change();
  return true;
}

bool is_claimed(LeaseName resource, LeaseName key) {
  Datum values[] = {PointerGetDatum(resource.value), PointerGetDatum(key.value)};
  Datum token;
  return read_newest(look_statement, values, &token, 1);
}

int64 purge_claims(int64 older_than, text *resource_prefix) {
  TimestampTz until;
  if (__builtin_sub_overflow(GetCurrentTimestamp(), older_than, &until))
    return 0;
  Datum values[] = {TimestampTzGetDatum(until), PointerGetDatum(resource_prefix)};
  return static_cast<int64>(write_rows(purge_statement, values));
}

} // namespace gatepost
