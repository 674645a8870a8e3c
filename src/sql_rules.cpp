// SQL doors: rules by name prefix.
#include "arguments.hpp"
#include "edge.hpp"
#include "guards.hpp"
#include "mutant.hpp"
#include "relations.hpp"
#include "rights.hpp"
#include "rule_rows.hpp"
#include "rules.hpp"

using namespace gatepost;

namespace {

constexpr int max_prefix_bytes = 1024;
constexpr int max_member_bytes = NAMEDATALEN - 1;

std::string_view bytes_of(text *value) { return {VARDATA_ANY(value), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))}; }

std::string_view limited(text *value, const char *argument, int most) {
  const std::string_view bytes = bytes_of(value);
  if (bytes.size() > static_cast<size_t>(most))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("%s is %zu bytes long, at most %d are allowed", argument, bytes.size(), most)));
  return bytes;
}

std::string_view checked_prefix(text *value) { return limited(value, "prefix", max_prefix_bytes); }

std::string_view checked_member(text *value) {
  const std::string_view member = limited(value, "member", max_member_bytes);
  if (member.empty())
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("member must not be empty")));
  return member;
}

std::string_view checked_action(text *value) {
  const std::string_view action = bytes_of(value);
  for (const char *known : action_names)
    if (action == known)
      return action;
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                  errmsg("action \"%s\" is unknown, it can be hold, see or break", printable(LeaseName{value}))));
}

text *text_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  return PG_GETARG_TEXT_PP(index);
}

const char *role_argument(FunctionCallInfo fcinfo, int index, const char *argument) {
  require_argument(fcinfo, index, argument);
  const Oid role = PG_GETARG_OID(index);
  const char *name = GetUserNameFromId(role, true);
  if (name == nullptr)
    ereport(ERROR,
            (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("%s is no role: there is none of oid %u", argument, role)));
  return name;
}

text *text_column(const TriggerData *trigger, RuleColumn column) {
  bool isnull;
  const Datum value = heap_getattr(trigger->tg_trigtuple, column, RelationGetDescr(trigger->tg_relation), &isnull);
  if (isnull)
    ereport(ERROR,
            (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", rule_columns[column - 1].name)));
  return DatumGetTextPP(value);
}

} // namespace

GATEPOST_FUNCTION(rule_add) {
  require_changing("rule_add()");
  require_administrator("rule_add()");
  const std::string_view prefix = checked_prefix(text_argument(fcinfo, 0, "prefix"));
  const std::string_view member = role_argument(fcinfo, 1, "member");
  insert_rule({prefix, member, checked_action(text_argument(fcinfo, 2, "action"))});
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(rule_drop) {
  require_changing("rule_drop()");
  require_administrator("rule_drop()");
  const std::string_view prefix = checked_prefix(text_argument(fcinfo, 0, "prefix"));
  const std::string_view member = checked_member(text_argument(fcinfo, 1, "member"));
  PG_RETURN_BOOL(delete_rule({prefix, member, checked_action(text_argument(fcinfo, 2, "action"))}));
}

GATEPOST_FUNCTION(rule_rows) {
  PreventCommandIfParallelMode("rule_rows()");
  require_administrator("rule_rows()");
  InitMaterializedSRF(fcinfo, 0);
  const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
  Relation rules = open_rules(AccessShareLock);
  each_rule(rules, [result](const RuleRow &row) {
    const auto put = [](std::string_view bytes) {
      return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
    };
    const bool exists = OidIsValid(get_role_oid(pnstrdup(row.key.member.data(), row.key.member.size()), true));
    Datum values[] = {put(row.key.prefix), put(row.key.member), put(row.key.action), BoolGetDatum(exists),
                      BoolGetDatum(row.arriving || row.leaving)};
    bool nulls[std::size(values)] = {};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
  });
  close_rules(rules, AccessShareLock);
  return Datum{0};
}

// BEFORE INSERT on name_rules: a dump is loaded as if by rule_add, whether or not its roles are here, and a rule that
// is here already is no error.
GATEPOST_FUNCTION(rule_loaded) {
  const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
  // On any other table it would give whoever may create a trigger the right to add rules.
  if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
      !TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
      (!is_rules(RelationGetRelid(trigger->tg_relation)) && !mutant("rules_from_anywhere")))
    ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                    errmsg("rule_loaded() is for inserts into gatepost.name_rules only")));
  // Another server's rules are not for here.
  if (IsLogicalWorker() && !mutant("replicated_rules_loaded"))
    refuse_statement(trigger->tg_relation);
  insert_rule({checked_prefix(text_column(trigger, rule_prefix)), checked_member(text_column(trigger, rule_member)),
               checked_action(text_column(trigger, rule_action))});
  return PointerGetDatum(nullptr);
}
