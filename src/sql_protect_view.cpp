// SQL door: what the view fenced_tables shows.
#include "edge.hpp"
#include "fence_template.hpp"
#include "mutant.hpp"
#include "protection.hpp"

using namespace gatepost;

namespace {

constexpr const char *mode_names[fence_mode_count] = {"lease", "template", "column"};

Datum text_array(List *texts) {
  Datum *values = static_cast<Datum *>(palloc(sizeof(Datum) * (list_length(texts) + 1)));
  int count = 0;
  ListCell *cell;
  foreach (cell, texts)
    values[count++] = CStringGetTextDatum(static_cast<const char *>(lfirst(cell)));
  return PointerGetDatum(construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT));
}

List *trigger_gap(List *gaps, const FenceTrigger *trigger) {
  const char *name = trigger->name;
  if (!is_whole(*trigger))
    gaps = lappend(gaps, psprintf("trigger %s does not fire for every write", name));
  switch (trigger->enabled) {
  case TRIGGER_DISABLED:
    return lappend(gaps, psprintf("trigger %s is disabled", name));
  case TRIGGER_FIRES_ON_ORIGIN:
    return lappend(gaps, psprintf("trigger %s does not fire while session_replication_role is replica", name));
  case TRIGGER_FIRES_ON_REPLICA:
    return lappend(gaps, psprintf("trigger %s fires only while session_replication_role is replica", name));
  default:
    return gaps;
  }
}

// Triggers that come after the one that stamps the mark, and could lower it.
List *later_triggers(List *gaps, Oid relation, const char *stamping) {
  Relation catalog = table_open(TriggerRelationId, AccessShareLock);
  ScanKeyData key;
  ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
  SysScanDesc scan = systable_beginscan(catalog, TriggerRelidNameIndexId, true, nullptr, 1, &key);
  while (HeapTuple tuple = systable_getnext(scan)) {
    const auto form = reinterpret_cast<Form_pg_trigger>(GETSTRUCT(tuple));
    const bool before_row = TRIGGER_FOR_ROW(form->tgtype) && TRIGGER_FOR_BEFORE(form->tgtype) &&
                            (TRIGGER_FOR_INSERT(form->tgtype) || TRIGGER_FOR_UPDATE(form->tgtype));
    if (before_row && form->tgenabled != TRIGGER_DISABLED && strcmp(NameStr(form->tgname), stamping) > 0)
      gaps = lappend(gaps, psprintf("trigger %s runs later and can change the mark", NameStr(form->tgname)));
  }
  systable_endscan(scan);
  table_close(catalog, AccessShareLock);
  return gaps;
}

bool is_identity(Oid relation, AttrNumber number) {
  HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation), Int16GetDatum(number));
  if (!HeapTupleIsValid(tuple))
    return false;
  const bool identity = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple))->attidentity != '\0';
  ReleaseSysCache(tuple);
  return identity;
}

List *column_gap(List *gaps, Oid relation, const char *column) {
  const AttrNumber number = get_attnum(relation, column);
  if (number <= 0)
    return lappend(gaps, psprintf("column %s does not exist", column));
  if (get_atttype(relation, number) != INT8OID)
    return lappend(gaps, psprintf("column %s is not bigint", column));
  if (get_attgenerated(relation, number) != '\0')
    return lappend(gaps, psprintf("column %s is generated", column));
  // fenced_update cannot write it, and fence_protect would not take it.
  if (is_identity(relation, number) && !mutant("identity_marks_unsaid"))
    return lappend(gaps, psprintf("column %s is an identity column", column));
  return gaps;
}

List *gaps_of(Oid relation, List *triggers, const FenceTrigger &protection) {
  List *gaps = NIL;
  const FenceTrigger *statement = statement_trigger_of(triggers);
  const FenceTrigger *rows = row_trigger_like(triggers, protection);
  if (statement == nullptr)
    gaps = lappend(gaps, psprintf("trigger %s is missing", statement_trigger));
  else
    gaps = trigger_gap(gaps, statement);
  if (rows != nullptr)
    gaps = trigger_gap(gaps, rows);
  else if (needs_row_trigger(relation, protection))
    gaps = lappend(gaps, psprintf("trigger %s is missing", row_trigger));
  if (protection.arguments.mode == FenceMode::by_template && !mutant("lost_columns_unsaid"))
    return list_concat(gaps, template_gaps(protection.arguments.lease, relation));
  if (protection.arguments.mode != FenceMode::by_column)
    return gaps;
  gaps = column_gap(gaps, relation, protection.arguments.column);
  return rows != nullptr ? later_triggers(gaps, relation, rows->name) : gaps;
}

void put(ReturnSetInfo *result, Oid relation, List *triggers, const FenceTrigger &protection) {
  constexpr int columns = 8;
  const FenceArguments &arguments = protection.arguments;
  const auto optional = [](const char *text) {
    return text[0] != '\0' ? CStringGetTextDatum(text) : PointerGetDatum(nullptr);
  };
  List *exempt = NIL;
  for (int i = 0; i < arguments.exempt_count; i++)
    exempt = lappend(exempt, arguments.exempt[i]);
  List *gaps = gaps_of(relation, triggers, protection);
  const bool by_column = arguments.mode == FenceMode::by_column;
  const Datum values[columns] = {ObjectIdGetDatum(relation),
                                 CStringGetTextDatum(mode_names[static_cast<int>(arguments.mode)]),
                                 optional(arguments.lease),
                                 optional(arguments.column),
                                 optional(by_column ? issuer_name(arguments.issuer) : ""),
                                 text_array(exempt),
                                 BoolGetDatum(gaps == NIL),
                                 text_array(gaps)};
  const bool nulls[columns] = {false, false, arguments.lease[0] == '\0', !by_column, !by_column, false, false, false};
  tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values), const_cast<bool *>(nulls));
}

} // namespace

GATEPOST_FUNCTION(fence_rows) {
  InitMaterializedSRF(fcinfo, 0);
  auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  List *seen = NIL;
  ListCell *cell;
  foreach (cell, protected_relations()) {
    const Oid root = lfirst_oid(cell);
    const FenceTrigger *protection = protection_of(fence_triggers_of(root));
    if (protection == nullptr)
      continue;
    ListCell *inner;
    foreach (inner, tree_of(root)) {
      const Oid relation = lfirst_oid(inner);
      if (list_member_oid(seen, relation) || get_rel_name(relation) == nullptr)
        continue;
      List *own = fence_triggers_of(relation);
      // One with a protection of its own is shown with that.
      if (relation != root && statement_trigger_of(own) != nullptr)
        continue;
      seen = lappend_oid(seen, relation);
      put(result, relation, own, *protection);
    }
  }
  return Datum{0};
}
