// The rows of refusal_counters, refusal_history and lease_history as the library reads and writes them, as in
// slot_layout.hpp.
#pragma once

#include "pg.hpp"
#include "slot_layout.hpp"

namespace gatepost {

// How many bytes of a row the struct stands for; a struct may end in padding that the row has not.
template <class Data> inline constexpr size_t row_bytes = 0;

namespace counter {
inline constexpr char free = '-';
inline constexpr char others = '*'; // the one row that counts when none is free
} // namespace counter

struct CounterData {
  int64 count;
  uint64 key; // key_of the name, 0: none
  TimestampTz last_at;
  Oid relation;
  char reason; // a RefusalReason, or as above
  NameData name;
};

template <> inline constexpr size_t row_bytes<CounterData> = offsetof(CounterData, name) + sizeof(NameData);

inline constexpr Column counter_columns[] = {
    {"count", INT8OID, true},   {"key", INT8OID, true},    {"last_at", TIMESTAMPTZOID, true},
    {"relation", OIDOID, true}, {"reason", CHAROID, true}, {"name", NAMEOID, true},
};

struct RefusedData {
  int64 number; // rises with each; 0: a free row
  TimestampTz at;
  int64 token;
  int64 current;
  pg_uuid_t address; // 4 or 16 bytes of it
  Oid relation;
  Oid role;
  int32 pid;
  char reason;
  char family; // 4 or 6; -: none
  NameData name;
  NameData application;
};

template <> inline constexpr size_t row_bytes<RefusedData> = offsetof(RefusedData, application) + sizeof(NameData);

inline constexpr Column refused_columns[] = {
    {"number", INT8OID, true},  {"at", TIMESTAMPTZOID, true}, {"token", INT8OID, true}, {"current", INT8OID, true},
    {"address", UUIDOID, true}, {"relation", OIDOID, true},   {"role", OIDOID, true},   {"pid", INT4OID, true},
    {"reason", CHAROID, true},  {"family", CHAROID, true},    {"name", NAMEOID, true},  {"application", NAMEOID, true},
};

namespace event {
inline constexpr char grant = 'g';
inline constexpr char takeover = 't';
inline constexpr char broken = 'b';
} // namespace event

// The fixed part of a row of lease_history.
struct EventData {
  TimestampTz at;
  int64 token;
  int64 prior; // 0: none
  Oid role;
  int32 pid;
  char event;
};

enum EventColumn {
  event_at = 1,
  event_token,
  event_prior,
  event_role,
  event_pid,
  event_event,
  event_name,
  event_owner,
  event_client_addr,
  event_detail,
  event_column_count = event_detail
};

inline constexpr Column event_columns[event_column_count] = {
    {"at", TIMESTAMPTZOID, true},    {"token", INT8OID, true},   {"prior", INT8OID, true}, {"role", OIDOID, true},
    {"pid", INT4OID, true},          {"event", CHAROID, true},   {"name", TEXTOID, true},  {"owner", TEXTOID, false},
    {"client_addr", INETOID, false}, {"detail", TEXTOID, false},
};

static_assert(offsetof(CounterData, name) == 29 && offsetof(RefusedData, relation) == 48 &&
              offsetof(RefusedData, name) == 62 && offsetof(EventData, event) == 32);

inline const EventData *event_data(HeapTuple tuple) { return reinterpret_cast<EventData *>(GETSTRUCT(tuple)); }

} // namespace gatepost
