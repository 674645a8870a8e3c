// The rows of name_rules, read and written past the executor: newest state at every isolation level, what other
// transactions have in flight included. Rows are only ever inserted and deleted.
#pragma once

#include "mutant.hpp"
#include "pg.hpp"
#include "relations.hpp"
#include "slot_layout.hpp"

#include <string_view>

namespace gatepost {

struct RuleKey {
  std::string_view prefix; // bytes of a name
  std::string_view member; // a role's name, whether or not there is such a role
  std::string_view action; // see rules.hpp
};

struct RuleRow {
  RuleKey key;   // in memory of the scan
  bool arriving; // another open transaction has written it
  bool leaving;  // another open transaction has deleted it
  ItemPointerData place;
};

RuleRow rule_row(Relation rules, HeapTuple tuple, const SnapshotData &dirty);

// Calls visit(const RuleRow &) for each row. A row that is written meanwhile, at a place that the scan has passed, is
// missing, also where it replaces one that is gone when the scan comes to it: whoever relies on the whole takes in
// relation news after it, since a writer tells before it commits.
template <class Visit> void each_rule(Relation rules, Visit visit) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  dirty.xmin = dirty.xmax = InvalidTransactionId;
  TableScanDesc scan =
      table_beginscan_strat(rules, mutant("rules_by_snapshot") ? GetActiveSnapshot() : &dirty, 0, nullptr, true, false);
  for (HeapTuple tuple = heap_getnext(scan, ForwardScanDirection); HeapTupleIsValid(tuple);
       tuple = heap_getnext(scan, ForwardScanDirection)) {
    CHECK_FOR_INTERRUPTS();
    visit(rule_row(rules, tuple, dirty));
  }
  table_endscan(scan);
}

// Result: false when the rule is there already. Raises LG010 when another open transaction is changing it.
bool insert_rule(const RuleKey &key);

// Result: false when there is no such rule. Raises LG010.
bool delete_rule(const RuleKey &key);

} // namespace gatepost
