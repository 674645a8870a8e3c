#include "mark_above.hpp"

#include "locks.hpp"
#include "mutant.hpp"
#include "protection.hpp"
#include "relations.hpp"

namespace gatepost {
namespace {

// Whether the index begins with the column, in the order of int8, and has every row.
bool orders_all(Oid index, AttrNumber column) {
  HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
  if (!HeapTupleIsValid(tuple))
    return false;
  const auto form = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
  const bool whole = form->indisvalid && form->indkey.values[0] == column &&
                     (heap_attisnull(tuple, Anum_pg_index_indpred, nullptr) || mutant("partial_indexes_believed"));
  ReleaseSysCache(tuple);
  if (!whole)
    return false;
  const Oid opclass = get_index_column_opclass(index, 1);
  return get_opclass_family(opclass) == INTEGER_BTREE_FAM_OID && get_opclass_input_type(opclass) == INT8OID;
}

// InvalidOid when there is none, or none that is to be had without waiting.
Oid lock_ordering_index(Relation heap, AttrNumber column) {
  ListCell *cell;
  foreach (cell, RelationGetIndexList(heap)) {
    const Oid index = lfirst_oid(cell);
    if (orders_all(index, column) && relation_lock_within(index, AccessShareLock, short_patience_us))
      return index;
  }
  return InvalidOid;
}

int64 highest_above(Relation heap, Relation index, AttrNumber column, int64 bound) {
  // Puts no predicate locks on the table.
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  ScanKeyData key;
  ScanKeyInit(&key, column, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(bound));
  const bool descends = (index->rd_indoption[0] & INDOPTION_DESC) != 0;
  SysScanDesc scan = systable_beginscan_ordered(heap, index, &dirty, 1, &key);
  const HeapTuple tuple = systable_getnext_ordered(scan, descends ? ForwardScanDirection : BackwardScanDirection);
  bool isnull;
  const int64 mark =
      HeapTupleIsValid(tuple) ? DatumGetInt64(heap_getattr(tuple, column, RelationGetDescr(heap), &isnull)) : 0;
  systable_endscan_ordered(scan);
  return mark;
}

MarkAbove look(Relation heap, const char *column_name, int64 bound) {
  const AttrNumber column = get_attnum(RelationGetRelid(heap), column_name);
  if (column <= 0)
    return {false, 0};
  const Oid oid = lock_ordering_index(heap, column);
  if (!OidIsValid(oid))
    return {false, 0};
  Relation index = index_open(oid, NoLock);
  const int64 mark = highest_above(heap, index, column, bound);
  index_close(index, AccessShareLock);
  return {true, mark};
}

// Pages of another session's temporary table are out of reach, and an unlogged table is empty on a standby. Neither
// keeps marks from elsewhere.
bool is_out_of_reach(Relation heap) {
  return (RELATION_IS_OTHER_TEMP(heap) || (RecoveryInProgress() && !RelationIsPermanent(heap))) &&
         !mutant("every_table_looked_into");
}

} // namespace

MarkAbove mark_above(Oid relation, int64 bound) {
  const FenceTrigger *protection = protection_of(fence_triggers_of(relation));
  if (protection == nullptr || protection->arguments.mode != FenceMode::by_column ||
      protection->arguments.issuer != Issuer::gatepost)
    return {true, 0};
  if (!relation_lock_within(relation, AccessShareLock, short_patience_us))
    return {false, 0};
  Relation heap = try_relation_open(relation, NoLock);
  if (heap == nullptr) {
    UnlockRelationOid(relation, AccessShareLock);
    return {true, 0};
  }
  // What a partitioned table has is in its partitions.
  const MarkAbove result = heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || is_out_of_reach(heap)
                               ? MarkAbove{true, 0}
                               : look(heap, protection->arguments.column, bound);
  relation_close(heap, AccessShareLock);
  return result;
}

} // namespace gatepost
