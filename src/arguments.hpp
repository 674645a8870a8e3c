// The arguments of SQL functions, checked: NULL is 22004, a bad value 22023, and the message names the argument.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

inline constexpr int max_name_bytes = 1024;

// A name of a lease, a resource or a claim's key: 1 to 1,024 bytes, compared by bytes. Points into the call's memory.
struct LeaseName {
  text *value;
  std::string_view bytes() const { return {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))}; }
};

// The name for messages, cut to a length that fits a line. Result: palloc'd C string.
const char *printable(LeaseName name);

// Compared by bytes.
bool has_prefix(LeaseName name, text *prefix);

// Raises 22004 when the argument is NULL.
void require_argument(FunctionCallInfo fcinfo, int index, const char *argument);

LeaseName name_argument(FunctionCallInfo fcinfo, int index, const char *argument = "name");

// Raises 22023 when it is empty or too long.
void check_name(LeaseName name, const char *argument);

// An array of names: one-dimensional, no element NULL, each checked as a name. palloc'd.
LeaseName *names_argument(FunctionCallInfo fcinfo, int index, int *count);

// An array of tokens, checked likewise.
int64 *tokens_argument(FunctionCallInfo fcinfo, int index, int *count);

// A time to live in microseconds: more than 0, at most gatepost.max_ttl; days are 24 hours, months are refused.
int64 ttl_argument(FunctionCallInfo fcinfo, int index);

// A length of time in microseconds, 0 or more; days are 24 hours, months are refused.
int64 duration_argument(FunctionCallInfo fcinfo, int index, const char *argument);

// How long to wait, in microseconds: 0 to a day.
int64 wait_argument(FunctionCallInfo fcinfo, int index);

// 1 to 2^53 - 1.
int64 token_argument(FunctionCallInfo fcinfo, int index, const char *argument);

// Where tokens come from: this database, or another lease system, of whose tokens only the order is known.
enum class Issuer { gatepost, any };
const char *issuer_name(Issuer issuer);

// Raises 22023 when it is neither.
Issuer issuer_of(LeaseName name);
Issuer issuer_argument(FunctionCallInfo fcinfo, int index);

// A token of another lease system: 1 to 2^63 - 1.
int64 foreign_token_argument(FunctionCallInfo fcinfo, int index, const char *argument);

// At most 256 bytes; nullptr when NULL.
text *owner_argument(FunctionCallInfo fcinfo, int index);

// At most 1,024 bytes, for the server's log; nullptr when NULL.
const char *reason_argument(FunctionCallInfo fcinfo, int index);

// At most 63 bytes, for a column of type name; empty when NULL.
NameData short_reason_argument(FunctionCallInfo fcinfo, int index);

// An object of at most 8,192 bytes as text; nullptr when NULL.
Jsonb *metadata_argument(FunctionCallInfo fcinfo, int index);

// Zero bytes when NULL; the nil uuid itself is refused, since it stands for none in the row.
pg_uuid_t request_id_argument(FunctionCallInfo fcinfo, int index, const char *argument = "request_id");

// The same as ttl_argument's cap, in seconds; gatepost.max_ttl.
extern int max_ttl_seconds;

} // namespace gatepost
