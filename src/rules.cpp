#include "rules.hpp"

#include "mutant.hpp"
#include "relations.hpp"
#include "rights.hpp"
#include "rule_rows.hpp"

#include <algorithm>
#include <iterator>

namespace gatepost {
namespace {

struct Rule {
  std::string_view prefix;
  const char *member;
  Action action;
  bool arriving;
};

// What this backend knows of the rules, longest prefix first.
struct Book {
  MemoryContext memory;
  Rule *rules;
  int count;
  int room;
  uint64 epoch; // of the relations, when it was read; 0: it was not, or not to the end
  bool settled; // nothing was in flight then: news comes with each change
} book;

const char *copy(std::string_view bytes) { return pnstrdup(bytes.data(), bytes.size()); }

// Actions of a later version are for functions that this library has not.
bool known_action(std::string_view name, Action *action) {
  for (size_t i = 0; i < std::size(action_names); i++)
    if (name == action_names[i]) {
      *action = static_cast<Action>(i);
      return true;
    }
  return false;
}

void write_down(const RuleRow &row) {
  Action action;
  if ((row.arriving || row.leaving) && !mutant("flying_rules_kept"))
    book.settled = false;
  if (!known_action(row.key.action, &action))
    return;
  const MemoryContext outer = MemoryContextSwitchTo(book.memory);
  if (book.count == book.room) {
    const int room = Max(book.room * 2, 16);
    Rule *larger = static_cast<Rule *>(palloc(sizeof(Rule) * room));
    std::copy_n(book.rules, book.count, larger);
    book.rules = larger;
    book.room = room;
  }
  book.rules[book.count++] = {{copy(row.key.prefix), row.key.prefix.size()},
                              copy(row.key.member),
                              action,
                              row.arriving && !mutant("arriving_rules_permit")};
  MemoryContextSwitchTo(outer);
}

// Result: whether it was read whole. News during the scan may be of a row behind it.
bool read_rules() {
  if (book.memory == nullptr)
    book.memory = AllocSetContextCreate(TopMemoryContext, "gatepost rules", ALLOCSET_SMALL_SIZES);
  MemoryContextReset(book.memory);
  book = {book.memory, nullptr, 0, 0, 0, false};

  Relation rel = open_rules(AccessShareLock);
  const uint64 epoch = relations_epoch();
  MemoryContext scanning = AllocSetContextCreate(CurrentMemoryContext, "gatepost rules scan", ALLOCSET_SMALL_SIZES);
  const MemoryContext outer = MemoryContextSwitchTo(scanning);
  book.settled = true;
  each_rule(rel, write_down);
  MemoryContextSwitchTo(outer);
  MemoryContextDelete(scanning);
  close_rules(rel, AccessShareLock);
  std::sort(book.rules, book.rules + book.count,
            [](const Rule &a, const Rule &b) { return a.prefix.size() > b.prefix.size(); });
  AcceptInvalidationMessages();
  book.epoch = epoch;
  return relations_epoch() == epoch;
}

// A role that is gone matches nobody; one created again under its name matches.
bool is_member(Oid who, const char *role_name) {
  const Oid role = get_role_oid(role_name, true);
  if (!OidIsValid(role))
    return mutant("absent_roles_match");
  return has_privs_of_role(who, role);
}

enum class Verdict { unruled, permitted, forbidden };

Verdict judge(Oid who, std::string_view name, Action action) {
  Verdict verdict = Verdict::unruled;
  size_t longest = 0;
  for (int i = 0; i < book.count && !mutant("rules_ignored"); i++) {
    const Rule &rule = book.rules[i];
    if (verdict != Verdict::unruled && rule.prefix.size() < longest && !mutant("every_prefix_counts"))
      break;
    if (rule.action != action || !name.starts_with(rule.prefix))
      continue;
    if (!rule.arriving && is_member(who, rule.member))
      return Verdict::permitted;
    longest = rule.prefix.size();
    verdict = Verdict::forbidden;
  }
  return verdict;
}

} // namespace

void refresh_rules() {
  AcceptInvalidationMessages();
  if (book.settled && (book.epoch == relations_epoch() || mutant("rules_never_forgotten")))
    return;
  while (!read_rules())
    CHECK_FOR_INTERRUPTS();
}

bool permitted_to(Oid role, std::string_view name, Action action) {
  const Verdict verdict = judge(role, name, action);
  return verdict == Verdict::permitted || (verdict == Verdict::unruled && action != Action::break_lease) ||
         is_administrator(role);
}

bool permitted(std::string_view name, Action action) { return permitted_to(GetUserId(), name, action); }

bool permitted_all(std::string_view beginning, Action action) {
  if (!permitted(beginning, action))
    return false;
  for (int i = 0; i < book.count; i++)
    if (book.rules[i].action == action && book.rules[i].prefix.starts_with(beginning) &&
        !permitted(book.rules[i].prefix, action))
      return false;
  return true;
}

void require_action(LeaseName name, Action action) {
  refresh_rules();
  if (book.count == 0 && action != Action::break_lease)
    return;
  if (permitted(name.bytes(), action))
    return;
  // Without a rule it is an administrator's function as any other.
  if (judge(GetUserId(), name.bytes(), action) == Verdict::unruled)
    return require_administrator("lease_break()");
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for name \"%s\"", printable(name)),
                  errdetail("The rules do not let the current role %s it.", action_names[static_cast<int>(action)])));
}

void require_hold_still(LeaseName name) {
  if (!mutant("rules_of_the_call_believed"))
    require_action(name, Action::hold);
}

} // namespace gatepost
