#include "rule_rows.hpp"

#include "errors.hpp"

namespace gatepost {
namespace {

std::string_view bytes_of(Relation rules, HeapTuple tuple, RuleColumn column) {
  bool isnull;
  const Datum value = heap_getattr(tuple, column, RelationGetDescr(rules), &isnull);
  if (isnull)
    return {};
  text *bytes = DatumGetTextPP(value);
  return {VARDATA_ANY(bytes), static_cast<size_t>(VARSIZE_ANY_EXHDR(bytes))};
}

bool operator==(const RuleKey &a, const RuleKey &b) {
  return a.prefix == b.prefix && a.member == b.member && a.action == b.action;
}

[[noreturn]] void refuse_in_flight() {
  ereport(ERROR, (errcode(in_flight), errmsg("the rule is being changed by a transaction that is still open"),
                  errhint("Try again when that transaction has ended.")));
}

// Where the rule is. Result: false when there is none.
bool find(Relation rules, const RuleKey &key, ItemPointerData *place) {
  bool found = false;
  each_rule(rules, [&](const RuleRow &row) {
    if (!(row.key == key))
      return;
    if (row.arriving || row.leaving)
      refuse_in_flight();
    *place = row.place;
    found = true;
  });
  return found;
}

// Others hear of it now, while it is in flight, and once more with the commit; this backend with the end of the
// command, or of the (sub)transaction that takes it back.
void announce(Relation rules) {
  if (!mutant("rules_unannounced")) {
    SharedInvalidationMessage message{};
    message.rc.id = SHAREDINVALRELCACHE_ID;
    message.rc.dbId = MyDatabaseId;
    message.rc.relId = RelationGetRelid(rules);
    SendSharedInvalidMessages(&message, 1);
  }
  CacheInvalidateRelcache(rules);
  CommandCounterIncrement();
}

Datum text_of(std::string_view bytes) {
  return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
}

HeapTuple form_rule(Relation rules, const RuleKey &key) {
  const TupleDesc description = RelationGetDescr(rules);
  Datum *values = static_cast<Datum *>(palloc0(sizeof(Datum) * description->natts));
  bool *nulls = static_cast<bool *>(palloc(sizeof(bool) * description->natts));
  // Columns past ours have been dropped.
  memset(nulls, true, sizeof(bool) * description->natts);
  memset(nulls, false, sizeof(bool) * rule_column_count);
  values[rule_prefix - 1] = text_of(key.prefix);
  values[rule_member - 1] = text_of(key.member);
  values[rule_action - 1] = text_of(key.action);
  return heap_form_tuple(description, values, nulls);
}

} // namespace

RuleRow rule_row(Relation rules, HeapTuple tuple, const SnapshotData &dirty) {
  return {
      {bytes_of(rules, tuple, rule_prefix), bytes_of(rules, tuple, rule_member), bytes_of(rules, tuple, rule_action)},
      TransactionIdIsValid(dirty.xmin),
      TransactionIdIsValid(dirty.xmax),
      tuple->t_self};
}

bool insert_rule(const RuleKey &key) {
  Relation rules = open_rules(RowExclusiveLock);
  ItemPointerData place;
  if (find(rules, key, &place)) {
    close_rules(rules, RowExclusiveLock);
    return false;
  }
  CatalogTupleInsert(rules, form_rule(rules, key));
  announce(rules);
  close_rules(rules, NoLock);
  return true;
}

bool delete_rule(const RuleKey &key) {
  Relation rules = open_rules(RowExclusiveLock);
  ItemPointerData place;
  if (!find(rules, key, &place)) {
    close_rules(rules, RowExclusiveLock);
    return false;
  }
  if (pg::heap_delete_nowait(rules, &place) != TM_Ok)
    refuse_in_flight();
  announce(rules);
  close_rules(rules, NoLock);
  return true;
}

} // namespace gatepost
