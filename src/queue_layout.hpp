// The rows of queue, laid over tuples like those of lease_slots: fixed-width NOT NULL columns first.
#pragma once

#include "slot_layout.hpp"

namespace gatepost {

// The fixed part of a row: a place in the queue of a name, or a watcher of it.
struct QueueData {
  int64 key;      // of the name
  int64 arrival;  // rises within a name; of a watcher negative, so that watchers come first in the index
  int64 deadline; // boot-time clock, microseconds: until when the row counts; overwritten in place
  int64 boot;     // the boot that arrival and deadline belong to
  int64 ttl;      // microseconds, of the lease that is asked for
  TimestampTz queued_at;
  Oid role;
  int32 pid;            // of the session that queued, for people
  pg_uuid_t request_id; // all zero for a watcher
};

enum QueueColumn {
  queue_key = 1,
  queue_arrival,
  queue_deadline,
  queue_boot,
  queue_ttl,
  queue_queued_at,
  queue_role,
  queue_pid,
  queue_request_id,
  queue_name,
  queue_before,
  queue_owner,
  queue_client_addr,
  queue_metadata,
  queue_column_count = queue_metadata
};

inline constexpr Column queue_columns[queue_column_count] = {
    {"key", INT8OID, true},          {"arrival", INT8OID, true},     {"deadline", INT8OID, true},
    {"boot", INT8OID, true},         {"ttl", INT8OID, true},         {"queued_at", TIMESTAMPTZOID, true},
    {"role", OIDOID, true},          {"pid", INT4OID, true},         {"request_id", UUIDOID, true},
    {"name", TEXTOID, true},         {"before", INT8ARRAYOID, true}, {"owner", TEXTOID, false},
    {"client_addr", INETOID, false}, {"metadata", JSONBOID, false},
};

static_assert(offsetof(QueueData, role) == 48 && offsetof(QueueData, request_id) == 56 && sizeof(QueueData) == 72);

inline QueueData *queue_data(HeapTuple tuple) { return reinterpret_cast<QueueData *>(GETSTRUCT(tuple)); }

inline bool is_watcher(const QueueData &data) { return data.arrival < 0; }

} // namespace gatepost
