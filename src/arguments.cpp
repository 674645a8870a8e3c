#include "arguments.hpp"

#include "token_layout.hpp"

#include <cstring>
#include <initializer_list>

namespace gatepost {

int max_ttl_seconds = 86400;

namespace {

constexpr int max_owner_bytes = 256;
constexpr int max_reason_bytes = 1024;
constexpr int max_metadata_bytes = 8192;

// In the server's own style, whatever the caller's IntervalStyle is.
const char *interval_text(Interval interval) {
  pg_itm parts;
  interval2itm(interval, &parts);
  auto *text = static_cast<char *>(palloc(MAXDATELEN + 1));
  EncodeInterval(&parts, INTSTYLE_POSTGRES, text);
  return text;
}

// Days and times only, so that the length does not depend on a calendar.
int64 interval_microseconds(const Interval *interval, const char *argument) {
  if (pg::interval_is_infinite(interval))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must be finite", argument)));
  if (interval->month != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not contain months or years", argument),
                    errhint("Use days; a day is 24 hours here.")));
  int64 total;
  if (__builtin_mul_overflow(static_cast<int64>(interval->day), USECS_PER_DAY, &total) ||
      __builtin_add_overflow(total, interval->time, &total))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is out of range", argument)));
  return total;
}

void check_token(int64 token, int64 most, const char *argument) {
  if (token < 1 || token > most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s %lld is out of range, tokens are between 1 and %lld", argument,
                           static_cast<long long>(token), static_cast<long long>(most))));
}

int64 token_up_to(int64 most, FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  const int64 token = PG_GETARG_INT64(index);
  check_token(token, most, argument);
  return token;
}

struct Elements {
  Datum *values;
  int count;
};

Elements elements_of(FunctionCallInfo fcinfo, int index, const char *argument, Oid type, int length, bool by_value,
                     char alignment) {
  require_argument(fcinfo, index, argument);
  ArrayType *array = PG_GETARG_ARRAYTYPE_P(index);
  if (ARR_NDIM(array) > 1)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s has %d dimensions, one is allowed", argument, ARR_NDIM(array))));
  Elements elements;
  bool *nulls;
  deconstruct_array(array, type, length, by_value, alignment, &elements.values, &nulls, &elements.count);
  for (int i = 0; i < elements.count; i++)
    if (nulls[i])
      ereport(ERROR,
              (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("element %d of %s must not be null", i + 1, argument)));
  return elements;
}

text *label_argument(FunctionCallInfo fcinfo, int index, const char *argument, int most) {
  if (PG_ARGISNULL(index))
    return nullptr;
  text *label = PG_GETARG_TEXT_PP(index);
  const int size = static_cast<int>(VARSIZE_ANY_EXHDR(label));
  if (size > most)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is %d bytes long, at most %d are allowed", argument, size, most)));
  return label;
}

} // namespace

const char *printable(LeaseName name) {
  const auto bytes = name.bytes();
  constexpr int shown = 128;
  if (bytes.size() <= shown)
    return pnstrdup(bytes.data(), bytes.size());
  const int cut = pg_mbcliplen(bytes.data(), static_cast<int>(bytes.size()), shown);
  return psprintf("%.*s...", cut, bytes.data());
}

bool has_prefix(LeaseName name, text *prefix) {
  return name.bytes().starts_with(
      std::string_view(VARDATA_ANY(prefix), static_cast<size_t>(VARSIZE_ANY_EXHDR(prefix))));
}

void require_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  if (PG_ARGISNULL(index))
    ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", argument)));
}

LeaseName name_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  const LeaseName name{PG_GETARG_TEXT_PP(index)};
  check_name(name, argument);
  return name;
}

void check_name(LeaseName name, const char *argument) {
  if (name.bytes().empty())
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not be empty", argument)));
  if (name.bytes().size() > max_name_bytes)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is %zu bytes long, at most %d are allowed",
                                                                     argument, name.bytes().size(), max_name_bytes)));
}

LeaseName *names_argument(FunctionCallInfo fcinfo, int index, int *count) {
  const Elements elements = elements_of(fcinfo, index, "names", TEXTOID, -1, false, TYPALIGN_INT);
  auto *names =
      static_cast<LeaseName *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(LeaseName) * elements.count));
  for (int i = 0; i < elements.count; i++) {
    names[i] = {DatumGetTextPP(elements.values[i])};
    if (names[i].bytes().empty() || names[i].bytes().size() > max_name_bytes)
      check_name(names[i], psprintf("element %d of names", i + 1));
  }
  *count = elements.count;
  return names;
}

int64 *tokens_argument(FunctionCallInfo fcinfo, int index, int *count) {
  const Elements elements =
      elements_of(fcinfo, index, "tokens", INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
  auto *tokens = static_cast<int64 *>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * elements.count));
  for (int i = 0; i < elements.count; i++) {
    tokens[i] = DatumGetInt64(elements.values[i]);
    if (tokens[i] < 1 || tokens[i] > max_token)
      check_token(tokens[i], max_token, psprintf("element %d of tokens,", i + 1));
  }
  *count = elements.count;
  return tokens;
}

int64 ttl_argument(FunctionCallInfo fcinfo, int index) {
  require_argument(fcinfo, index, "ttl");
  const Interval *interval = PG_GETARG_INTERVAL_P(index);
  const int64 ttl = interval_microseconds(interval, "ttl");
  if (ttl <= 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("ttl must be greater than zero")));
  if (ttl > max_ttl_seconds * USECS_PER_SEC)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("ttl is %s long, gatepost.max_ttl allows %s", interval_text(*interval),
                           GetConfigOptionByName("gatepost.max_ttl", nullptr, false)),
                    errhint("Renew a shorter lease, or let a superuser raise gatepost.max_ttl.")));
  return ttl;
}

int64 duration_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  const int64 duration = interval_microseconds(PG_GETARG_INTERVAL_P(index), argument);
  if (duration < 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not be negative", argument)));
  return duration;
}

int64 wait_argument(FunctionCallInfo fcinfo, int index) {
  constexpr int64 longest = USECS_PER_DAY;
  const int64 wait = duration_argument(fcinfo, index, "wait");
  if (wait > longest)
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
             errmsg("wait must not be longer than %lld hours", static_cast<long long>(longest / USECS_PER_HOUR))));
  return wait;
}

int64 token_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  return token_up_to(max_token, fcinfo, index, argument);
}

const char *issuer_name(Issuer issuer) { return issuer == Issuer::any ? "any" : "gatepost"; }

Issuer issuer_of(LeaseName name) {
  for (const Issuer issuer : {Issuer::gatepost, Issuer::any})
    if (name.bytes() == issuer_name(issuer))
      return issuer;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("issuer must be gatepost or any")));
}

Issuer issuer_argument(FunctionCallInfo fcinfo, int index) {
  require_argument(fcinfo, index, "issuer");
  return issuer_of(LeaseName{PG_GETARG_TEXT_PP(index)});
}

int64 foreign_token_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  return token_up_to(PG_INT64_MAX, fcinfo, index, argument);
}

text *owner_argument(FunctionCallInfo fcinfo, int index) {
  return label_argument(fcinfo, index, "owner", max_owner_bytes);
}

const char *reason_argument(FunctionCallInfo fcinfo, int index) {
  const text *reason = label_argument(fcinfo, index, "reason", max_reason_bytes);
  return reason == nullptr ? nullptr : text_to_cstring(reason);
}

NameData short_reason_argument(FunctionCallInfo fcinfo, int index) {
  NameData name{};
  if (const text *reason = label_argument(fcinfo, index, "reason", NAMEDATALEN - 1))
    memcpy(NameStr(name), VARDATA_ANY(reason), VARSIZE_ANY_EXHDR(reason));
  return name;
}

Jsonb *metadata_argument(FunctionCallInfo fcinfo, int index) {
  if (PG_ARGISNULL(index))
    return nullptr;
  Jsonb *metadata = PG_GETARG_JSONB_P(index);
  if (!JB_ROOT_IS_OBJECT(metadata))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("metadata must be a jsonb object")));
  // The text is what people see and can count; the binary form differs a little from it.
  const size_t size = strlen(JsonbToCString(nullptr, &metadata->root, VARSIZE(metadata)));
  if (size > max_metadata_bytes)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("metadata is %zu bytes long, at most %d are allowed", size, max_metadata_bytes)));
  return metadata;
}

pg_uuid_t request_id_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  pg_uuid_t id{};
  if (PG_ARGISNULL(index))
    return id;
  const pg_uuid_t nil{};
  id = *PG_GETARG_UUID_P(index);
  if (memcmp(&id, &nil, sizeof id) == 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s must not be the nil uuid", argument)));
  return id;
}

} // namespace gatepost
