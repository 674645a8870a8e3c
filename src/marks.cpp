#include "marks.hpp"

#include "durability.hpp"
#include "errors.hpp"
#include "hash.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "owned_statement.hpp"
#include "split_history.hpp"

namespace gatepost {
namespace {

constexpr Oid look_types[] = {TEXTOID};
constexpr Oid row_types[] = {TEXTOID, INT8OID, TIMESTAMPTZOID, TEXTOID};

OwnedStatement look_statement{"marks",
                              "SELECT token, issuer OPERATOR(pg_catalog.=) 'any' FROM gatepost.marks"
                              " WHERE resource OPERATOR(pg_catalog.=) $1",
                              1, look_types, nullptr};
OwnedStatement raise_statement{"marks",
                               "UPDATE gatepost.marks SET token = $2, changed_at = $3"
                               " WHERE resource OPERATOR(pg_catalog.=) $1",
                               3, row_types, nullptr};
OwnedStatement insert_statement{"marks",
                                "INSERT INTO gatepost.marks (resource, token, changed_at, issuer)"
                                " VALUES ($1, $2, $3, $4) ON CONFLICT (resource) DO NOTHING",
                                4, row_types, nullptr};
OwnedStatement touch_statement{"marks",
                               "SELECT FROM gatepost.marks WHERE resource OPERATOR(pg_catalog.=) $1 FOR KEY SHARE", 1,
                               look_types, nullptr};

struct Mark {
  bool found;
  int64 token;
  Issuer issuer;
};

Mark look(LeaseName resource) {
  Datum values[] = {PointerGetDatum(resource.value)};
  Datum columns[2];
  if (!read_newest(look_statement, values, columns, 2))
    return {};
  return {true, DatumGetInt64(columns[0]), DatumGetBool(columns[1]) ? Issuer::any : Issuer::gatepost};
}

// Raises when the token and the mark cannot be put in order.
void require_comparable(LeaseName resource, const Mark &mark, int64 token, Issuer issuer) {
  if (!mark.found)
    return;
  if (mark.issuer != issuer && !mutant("issuers_mixed"))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("issuer of resource \"%s\" is %s, not %s", printable(resource), issuer_name(mark.issuer),
                           issuer_name(issuer))));
  if (issuer == Issuer::gatepost && split(mark.token, token))
    refuse_split(mark.token, token, "resource", printable(resource));
}

bool is_stale(const Mark &mark, int64 token) { return mark.found && token < mark.token && !mutant("marks_lowered"); }

bool is_equal(const Mark &mark, int64 token) { return mark.found && token == mark.token; }

// Under the tag in mode raise. Result: false when the row has come or gone meanwhile, which only a dump that is being
// loaded can bring about.
bool write(LeaseName resource, const Mark &mark, int64 token, Issuer issuer) {
  Datum values[] = {PointerGetDatum(resource.value), Int64GetDatum(token), TimestampTzGetDatum(GetCurrentTimestamp()),
                    CStringGetTextDatum(issuer_name(issuer))};
  if (mark.found && write_rows(raise_statement, values) > 0)
    return true;
  // Where the row is newer than the transaction's snapshot this ends in 40001.
  return write_rows(insert_statement, values) > 0;
}

// The raise that made the mark is on this disk, since others see no commit before its flush; on a standby's it may not
// be yet. A commit that writes something waits for all that was logged before it.
void await_standby(LeaseName resource) {
  if (!standby_asked() || mutant("equal_unawaited"))
    return;
  Datum values[] = {PointerGetDatum(resource.value)};
  if (write_rows(touch_statement, values) == 0)
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("could not serialize access due to concurrent update")));
  note_durable_change();
}

} // namespace

Advance advance_mark(LeaseName resource, int64 token, Issuer issuer) {
  const uint64 key = key_of(resource);
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    // Who is stale never has the tag: repeating himself he would keep others from it.
    Mark mark = look(resource);
    require_comparable(resource, mark, token, issuer);
    if (is_stale(mark, token))
      return {false, mark.token};

    const ResourceMode mode = is_equal(mark, token) ? ResourceMode::equal : ResourceMode::raise;
    resource_take(key, mode);
    mark = look(resource);
    require_comparable(resource, mark, token, issuer);
    if (is_stale(mark, token)) {
      resource_drop(key, mode);
      return {false, mark.token};
    }
    if (is_equal(mark, token)) {
      // Another with the same token was quicker: from here on beside him.
      if (mode == ResourceMode::raise) {
        resource_take(key, ResourceMode::equal);
        resource_drop(key, mode);
      }
      await_standby(resource);
      note_mark_kept();
      return {true, token};
    }
    if (mode == ResourceMode::raise && write(resource, mark, token, issuer)) {
      if (!mutant("marks_unflushed"))
        note_durable_change();
      note_mark_kept();
      return {true, token};
    }
    resource_drop(key, mode);
  }
}

int64 mark_of(LeaseName resource) {
  const Mark mark = look(resource);
  return mark.found ? mark.token : 0;
}

bool load_mark(LeaseName resource, int64 token, Issuer issuer) {
  const Mark mark = look(resource);
  if (!mark.found) {
    note_durable_change();
    return true;
  }
  require_comparable(resource, mark, token, issuer);
  if (token > mark.token)
    advance_mark(resource, token, issuer);
  return false;
}

} // namespace gatepost
