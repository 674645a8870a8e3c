// The one door to the server's headers, and the only place that knows server versions.
#pragma once

// The headers' own warnings are not ours.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wregister"

#include "pg_config.h"
// Debian's 15 was configured without it, and this library hides what is not exported.
#if PG_VERSION_NUM < 160000
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_collation.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/partition.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "commands/event_trigger.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "common/cryptohash.h"
#include "common/hashfn.h"
#include "common/sha2.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/makefuncs.h"
#include "pgstat.h"
#include "replication/logicalworker.h"
#include "replication/syncrep.h"
#include "replication/walsender_private.h"
#include "replication/logicalworker.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "storage/sinval.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/inet.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/jsonfuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/rls.h"
#include "utils/resowner.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
#include "utils/varlena.h"

#if PG_VERSION_NUM >= 160000
#include "access/amapi.h"
#include "varatt.h"
#endif
}

#pragma GCC diagnostic pop

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "Gatepost is for PostgreSQL 15 to 18"
#endif

namespace gatepost::pg {

// The server, minor version too, whose headers this library was built with.
inline constexpr int built_for = PG_VERSION_NUM;

// The index of the primary key; 18 asks whether a deferrable one will do.
inline Oid primary_key_index(Relation rel) {
#if PG_VERSION_NUM >= 180000
  return RelationGetPrimaryKeyIndex(rel, false);
#else
  return RelationGetPrimaryKeyIndex(rel);
#endif
}

// 18 counts index searches (commit 0fbceae841c).
inline IndexScanDesc index_beginscan(Relation heap, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
  return ::index_beginscan(heap, index, snapshot, nullptr, keys, 0);
#else
  return ::index_beginscan(heap, index, snapshot, keys, 0);
#endif
}

// Whether the relation has the block. Its size is asked for where it is not known since the last news of a truncation:
// it only grows otherwise.
inline bool has_block(Relation rel, BlockNumber block) {
  const BlockNumber known = RelationGetSmgr(rel)->smgr_cached_nblocks[MAIN_FORKNUM];
  return (known != InvalidBlockNumber && block < known) || block < RelationGetNumberOfBlocks(rel);
}

// The file that holds a relation now.
inline Oid file_of(Relation rel) {
#if PG_VERSION_NUM >= 160000
  return rel->rd_locator.relNumber;
#else
  return rel->rd_node.relNode;
#endif
}

// A search key of a btree for all entries whose first column is the value.
inline BTScanInsert index_prefix_key(Relation index, Datum value) {
  const BTScanInsert key = _bt_mkscankey(index, nullptr);
  key->anynullkeys = false;
  key->keysz = 1;
  key->scankeys[0].sk_flags &= ~SK_ISNULL;
  key->scankeys[0].sk_argument = value;
  return key;
}

// The first leaf of a btree that can have entries of the key, pinned and locked to be read; invalid when the index is
// empty. The heap is asked for by writers only, the snapshot (until 16) for a setting that is gone.
inline Buffer find_leaf(Relation index, BTScanInsert key) {
  Buffer leaf;
#if PG_VERSION_NUM >= 170000
  const BTStack stack = _bt_search(index, nullptr, key, &leaf, BT_READ);
#elif PG_VERSION_NUM >= 160000
  const BTStack stack = _bt_search(index, nullptr, key, &leaf, BT_READ, nullptr);
#else
  const BTStack stack = _bt_search(index, key, &leaf, BT_READ, nullptr);
#endif
  if (stack != nullptr)
    _bt_freestack(stack);
  return leaf;
}

// heap_update that never waits; index_entries tells whether the new version needs entries of its own. From 16 the
// server says so itself (commit 19d8e2308bc5).
inline TM_Result heap_update_nowait(Relation rel, ItemPointer old_tid, HeapTuple fresh, bool *index_entries) {
  TM_FailureData failure;
  LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
  TU_UpdateIndexes update_indexes;
  const TM_Result result = heap_update(rel, old_tid, fresh, GetCurrentCommandId(true), InvalidSnapshot, false, &failure,
                                       &mode, &update_indexes);
  *index_entries = result == TM_Ok && update_indexes != TU_None;
#else
  const TM_Result result =
      heap_update(rel, old_tid, fresh, GetCurrentCommandId(true), InvalidSnapshot, false, &failure, &mode);
  *index_entries = result == TM_Ok && !HeapTupleIsHeapOnly(fresh);
#endif
  return result;
}

inline TM_Result heap_delete_nowait(Relation rel, ItemPointer tid) {
  TM_FailureData failure;
  return heap_delete(rel, tid, GetCurrentCommandId(true), InvalidSnapshot, false, &failure, false);
}

// Intervals can be infinite from 17 on (commit 519fc1bd9e9d).
inline bool interval_is_infinite([[maybe_unused]] const Interval *interval) {
#ifdef INTERVAL_NOT_FINITE
  return INTERVAL_NOT_FINITE(interval);
#else
  return false;
#endif
}

// 17 added an argument that asks for any stronger mode too (commit 0cecc908e97).
inline bool lock_held_by_me(const LOCKTAG *tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 170000
  return LockHeldByMe(tag, mode, false);
#else
  return LockHeldByMe(tag, mode);
#endif
}

// Whether this transaction has given an older relation a new file, which a rollback takes back.
inline bool rewritten_here(Relation rel) {
#if PG_VERSION_NUM >= 160000
  const SubTransactionId rewritten = rel->rd_firstRelfilelocatorSubid;
#else
  const SubTransactionId rewritten = rel->rd_firstRelfilenodeSubid;
#endif
  return rewritten != InvalidSubTransactionId && rel->rd_createSubid == InvalidSubTransactionId;
}

// Whether the role owns the relation; 16 made one function of many (commit afbfc02983f).
inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
  return object_ownercheck(RelationRelationId, relation, role);
#else
  return pg_class_ownercheck(relation, role);
#endif
}

// The process of a virtual transaction, nullptr when it is gone. 17 numbers processes in one way (commit 024c521117).
inline PGPROC *process_of(VirtualTransactionId id) {
#if PG_VERSION_NUM >= 170000
  return ProcNumberGetProc(id.procNumber);
#else
  return BackendIdGetProc(id.backendId);
#endif
}

// This session's own.
inline VirtualTransactionId my_transaction() {
  VirtualTransactionId id;
  GET_VXID_FROM_PGPROC(id, *MyProc);
  return id;
}

// As one number. A server that starts again, be it after a crash only, counts from the beginning.
inline int64 packed(VirtualTransactionId id) {
#if PG_VERSION_NUM >= 170000
  const auto process = static_cast<uint64>(static_cast<uint32>(id.procNumber));
#else
  const auto process = static_cast<uint64>(static_cast<uint32>(id.backendId));
#endif
  return static_cast<int64>(process << 32 | id.localTransactionId);
}

// Of this relation only, not of its partitions. The name without New has all its arguments from 16 on.
inline void enable_trigger_always(Relation rel, const char *trigger) {
#if PG_VERSION_NUM >= 160000
  EnableDisableTrigger(rel, trigger, InvalidOid, TRIGGER_FIRES_ALWAYS, false, false, ShareRowExclusiveLock);
#else
  EnableDisableTriggerNew(rel, trigger, TRIGGER_FIRES_ALWAYS, false, false, ShareRowExclusiveLock);
#endif
}

// nullptr when there is none. 16 exported its own look-up.
inline const config_generic *find_setting(const char *name) {
#if PG_VERSION_NUM >= 160000
  return find_option(name, false, true, ERROR);
#else
  config_generic **all = get_guc_variables();
  for (int i = 0; i < GetNumConfigOptions(); i++)
    if (pg_strcasecmp(all[i]->name, name) == 0)
      return all[i];
  return nullptr;
#endif
}

// The server's macros count in a volatile, which C++20 frowns upon.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvolatile"
inline void enter_critical_section() { START_CRIT_SECTION(); }
inline void leave_critical_section() { END_CRIT_SECTION(); }
inline void hold_interrupts() { HOLD_INTERRUPTS(); }
inline void resume_interrupts() { RESUME_INTERRUPTS(); }
#pragma GCC diagnostic pop

// The head of a sequence's record in the log: names its file.
inline xl_seq_rec sequence_record(Relation sequence) {
  xl_seq_rec record{};
#if PG_VERSION_NUM >= 160000
  record.locator = sequence->rd_locator;
#else
  record.node = sequence->rd_node;
#endif
  return record;
}

} // namespace gatepost::pg
