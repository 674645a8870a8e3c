// The rows of lease_slots and identity as the library reads and writes them: fixed-width NOT NULL columns first, so
// that they can be laid over a tuple as a struct, the way the server does with its catalogs. relations.cpp checks the
// tables against the column lists here; sql/ creates them.
#pragma once

#include "pg.hpp"

namespace gatepost {

struct Column {
  const char *name;
  Oid type;
  bool required;
};

// The fixed part of a row of lease_slots.
struct SlotData {
  int64 token;    // the highest ever granted for this name and slot
  int64 prior;    // the token that lease_break took away, 0 otherwise
  int64 deadline; // boot-time clock, microseconds
  int64 ttl;      // microseconds
  int64 boot;     // the boot that the deadline belongs to
  TimestampTz acquired_at;
  TimestampTz renewed_at;
  Oid role; // whose lease it is
  int32 pid;
  int32 slot;
  int32 weight;         // permits held, of a semaphore; 1 for a lock
  pg_uuid_t request_id; // all zero: none
  char kind;
  char state;
  bool superseded; // set in place, never rolled back: a rung took the lapsed name, or permits its weight
  // Set in place too, cleared by the next grant: somebody asks for the lease, and why.
  bool yield_asked;
  NameData yield_reason;
};

// What of it is in the row; the struct may be longer.
inline constexpr size_t slot_data_bytes = offsetof(SlotData, yield_reason) + NAMEDATALEN;

namespace kind {
inline constexpr char lock = 'l';
inline constexpr char semaphore = 's'; // the row that keeps a semaphore's limit
inline constexpr char permit = 'p';
} // namespace kind

namespace stored {
inline constexpr char held = 'h';
inline constexpr char released = 'r';
inline constexpr char broken = 'b';
} // namespace stored

enum SlotColumn {
  slot_token = 1,
  slot_prior,
  slot_deadline,
  slot_ttl,
  slot_boot,
  slot_acquired_at,
  slot_renewed_at,
  slot_role,
  slot_pid,
  slot_slot,
  slot_weight,
  slot_request_id,
  slot_kind,
  slot_state,
  slot_superseded,
  slot_yield_asked,
  slot_yield_reason,
  slot_name,
  slot_owner,
  slot_client_addr,
  slot_metadata,
  slot_column_count = slot_metadata
};

inline constexpr Column slot_columns[slot_column_count] = {
    {"token", INT8OID, true},
    {"prior", INT8OID, true},
    {"deadline", INT8OID, true},
    {"ttl", INT8OID, true},
    {"boot", INT8OID, true},
    {"acquired_at", TIMESTAMPTZOID, true},
    {"renewed_at", TIMESTAMPTZOID, true},
    {"role", OIDOID, true},
    {"pid", INT4OID, true},
    {"slot", INT4OID, true},
    {"weight", INT4OID, true},
    {"request_id", UUIDOID, true},
    {"kind", CHAROID, true},
    {"state", CHAROID, true},
    {"superseded", BOOLOID, true},
    {"yield_asked", BOOLOID, true},
    {"yield_reason", NAMEOID, true},
    {"name", TEXTOID, true},
    {"owner", TEXTOID, false},
    {"client_addr", INETOID, false},
    {"metadata", JSONBOID, false},
};

// The one row of identity: what this server's history was when the generation was last raised.
struct IdentityData {
  int64 system; // pg_control_system()'s identifier
  int64 timeline;
  int64 database; // oid
  int64 boot;     // the boot in which it was raised
  int64 since;    // boot-time from which rows of other boots count their ttl: when the identity had changed
  int64 first;    // what the raise set the sequence to: tokens are counted from it
};

inline constexpr int identity_column_count = 6;

inline constexpr Column identity_columns[identity_column_count] = {
    {"system", INT8OID, true}, {"timeline", INT8OID, true}, {"database", INT8OID, true},
    {"boot", INT8OID, true},   {"since", INT8OID, true},    {"first", INT8OID, true},
};

inline constexpr Column floor_columns[] = {{"token", INT8OID, true}};

enum RuleColumn { rule_prefix = 1, rule_member, rule_action, rule_column_count = rule_action };

inline constexpr Column rule_columns[rule_column_count] = {
    {"prefix", TEXTOID, true}, {"member", TEXTOID, true}, {"action", TEXTOID, true}};

// The struct and the tuple agree only while nothing in between needs padding.
static_assert(offsetof(SlotData, role) == 56 && offsetof(SlotData, request_id) == 72 &&
              offsetof(SlotData, kind) == 88 && offsetof(SlotData, superseded) == 90 &&
              offsetof(SlotData, yield_reason) == 92);

inline SlotData *slot_data(HeapTuple tuple) { return reinterpret_cast<SlotData *>(GETSTRUCT(tuple)); }
// A whole copy: what follows the fixed part in the row is not read.
inline SlotData copy_of(HeapTuple tuple) {
  SlotData data{};
  memcpy(&data, slot_data(tuple), slot_data_bytes);
  return data;
}

inline IdentityData *identity_data(HeapTuple tuple) { return reinterpret_cast<IdentityData *>(GETSTRUCT(tuple)); }

} // namespace gatepost
