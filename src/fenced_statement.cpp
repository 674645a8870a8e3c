#include "fenced_statement.hpp"

#include "mutant.hpp"
#include "token_layout.hpp"

#include <initializer_list>

namespace gatepost {
namespace {

constexpr const char *alias = "gatepost_target";

// Statements are built at each call, and formatting is most of what that would cost.
void append(StringInfo text, std::initializer_list<const char *> pieces) {
  for (const char *piece : pieces)
    appendStringInfoString(text, piece);
}

void append_parameter(StringInfo text, int number) {
  char digits[12];
  pg_ltoa(number, digits);
  append(text, {"$", digits});
}

// One member of a document, with the column it names.
struct Member {
  Form_pg_attribute column;
  int32 typmod; // what is stored is made to fit its column; a key is compared as it is
  JsonbValue value;
};

struct Members {
  int count;
  Member *list;
};

[[noreturn]] void refuse_column(Relation rel, const char *column) {
  // What was asked for may be of any length.
  constexpr int most = 128;
  const int size = static_cast<int>(strlen(column));
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                  errmsg("column \"%.*s%s\" of relation \"%s\" does not exist", pg_mbcliplen(column, size, most),
                         column, size > most ? "..." : "", RelationGetRelationName(rel))));
}

Form_pg_attribute column_named(Relation rel, const char *name) {
  const TupleDesc description = RelationGetDescr(rel);
  for (int i = 0; i < description->natts; i++) {
    const Form_pg_attribute column = TupleDescAttr(description, i);
    if (!column->attisdropped && strcmp(NameStr(column->attname), name) == 0)
      return column;
  }
  refuse_column(rel, name);
}

Members members_of(Jsonb *document, Relation rel, bool stored) {
  Members members{0, static_cast<Member *>(palloc(sizeof(Member) * (JB_ROOT_COUNT(document) + 1)))};
  JsonbIterator *iterator = JsonbIteratorInit(&document->root);
  JsonbValue value;
  const char *name = nullptr;
  for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
       token = JsonbIteratorNext(&iterator, &value, true)) {
    if (token == WJB_KEY)
      name = pnstrdup(value.val.string.val, value.val.string.len);
    else if (token == WJB_VALUE) {
      const Form_pg_attribute column = column_named(rel, name);
      members.list[members.count++] = {column, stored ? column->atttypmod : -1, value};
    }
  }
  return members;
}

bool is_json(Oid type) {
  const Oid base = getBaseType(type);
  return base == JSONBOID || base == JSONOID;
}

// The text that the type's input function takes, as jsonb_populate_record would hand it over.
char *input_text(const JsonbValue &value, Oid type) {
  if (is_json(type)) {
    Jsonb *document = JsonbValueToJsonb(const_cast<JsonbValue *>(&value));
    return JsonbToCString(nullptr, &document->root, VARSIZE(document));
  }
  switch (value.type) {
  case jbvString:
    return pnstrdup(value.val.string.val, value.val.string.len);
  case jbvNumeric:
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value.val.numeric)));
  case jbvBool:
    return pstrdup(value.val.boolean ? "true" : "false");
  default:
    elog(ERROR, "unexpected jsonb value of type %d", static_cast<int>(value.type));
  }
}

// Arrays and objects for other types than json go through the server's own conversion.
bool needs_conversion(const Member &member) {
  return member.value.type == jbvBinary && !is_json(member.column->atttypid);
}

int add_parameter(Parameters *parameters, Oid type, Datum value) {
  parameters->types[parameters->count] = type;
  parameters->values[parameters->count] = value;
  return ++parameters->count;
}

Datum input_value(const Member &member) {
  Oid input;
  Oid parameter;
  getTypeInputInfo(member.column->atttypid, &input, &parameter);
  return OidInputFunctionCall(input, input_text(member.value, member.column->atttypid), parameter, member.typmod);
}

// Appends the value of a member as an expression: NULL, a parameter of the column's type, or a conversion from the
// document. document_parameter is added once.
void append_value(StringInfo text, const Member &member, Parameters *parameters, Jsonb *document,
                  int *document_parameter) {
  if (member.value.type == jbvNull) {
    appendStringInfoString(text, "NULL");
    return;
  }
  if (!needs_conversion(member)) {
    append_parameter(text, add_parameter(parameters, member.column->atttypid, input_value(member)));
    return;
  }
  if (*document_parameter == 0)
    *document_parameter = add_parameter(parameters, JSONBOID, JsonbPGetDatum(document));
  const char *column = quote_identifier(NameStr(member.column->attname));
  appendStringInfo(text, "(SELECT r.%s FROM pg_catalog.jsonb_to_record($%d) AS r(%s %s))", column, *document_parameter,
                   column,
                   format_type_extended(member.column->atttypid, member.typmod,
                                        FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

// The unique index whose columns are exactly the key's. Its operators say what equal means.
bool matches_key(Relation index, const Members &key) {
  const Form_pg_index form = index->rd_index;
  if (!form->indisunique || !form->indimmediate || !form->indisvalid || !form->indisready ||
      form->indnkeyatts != key.count || RelationGetIndexExpressions(index) != NIL ||
      RelationGetIndexPredicate(index) != NIL || index->rd_rel->relam != BTREE_AM_OID)
    return false;
  for (int i = 0; i < form->indnkeyatts; i++) {
    bool found = false;
    for (int j = 0; j < key.count; j++)
      found = found || (key.list[j].column->attnum == form->indkey.values[i] &&
                        key.list[j].column->attcollation == index->rd_indcollation[i]);
    if (!found)
      return false;
  }
  return true;
}

Oid equality_of(Relation index, AttrNumber column) {
  for (int i = 0; i < index->rd_index->indnkeyatts; i++)
    if (index->rd_index->indkey.values[i] == column)
      return get_opfamily_member(index->rd_opfamily[i], index->rd_opcintype[i], index->rd_opcintype[i],
                                 BTEqualStrategyNumber);
  return InvalidOid;
}

// Fills equal[] for the members of the key. Result: false when no index matches.
bool find_equalities(Relation rel, const Members &key, Oid *equal) {
  bool found = false;
  List *indexes = RelationGetIndexList(rel);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (!found && matches_key(index, key)) {
      found = true;
      for (int i = 0; i < key.count; i++) {
        equal[i] = equality_of(index, key.list[i].column->attnum);
        found = found && OidIsValid(equal[i]);
      }
    }
    index_close(index, AccessShareLock);
  }
  list_free(indexes);
  return found;
}

void append_operator(StringInfo text, Oid oid) {
  HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(oid));
  if (!HeapTupleIsValid(tuple))
    elog(ERROR, "cache lookup failed for operator %u", oid);
  const auto form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(tuple));
  append(text,
         {" OPERATOR(", quote_identifier(get_namespace_name(form->oprnamespace)), ".", NameStr(form->oprname), ") "});
  ReleaseSysCache(tuple);
}

// Neither older than the mark nor, among tokens of this server's layout, of another history: src/split_history.hpp.
void append_fence_condition(StringInfo text, const char *fence, int token, bool any_issuer) {
  const auto append_token = [text, token] { append_parameter(text, token); };
  append(text, {" AND (", alias, ".", fence, " IS NULL OR (", alias, ".", fence, " OPERATOR(pg_catalog.<=) "});
  append_token();
  if (!any_issuer) {
    const char *shift = psprintf(" OPERATOR(pg_catalog.>>) %d", counter_bits + nonce_bits);
    const char *nonce = psprintf(" OPERATOR(pg_catalog.&) %d::pg_catalog.int8", static_cast<int>(token_step) - 1);
    append(text, {" AND ((", alias, ".", fence, shift, ") OPERATOR(pg_catalog.<>) ("});
    append_token();
    append(text, {shift, ") OR (", alias, ".", fence, nonce, ") OPERATOR(pg_catalog.=) ("});
    append_token();
    append(text, {nonce, "))"});
  }
  append(text, {"))"});
}

void check_target(Relation rel) {
  const char kind = rel->rd_rel->relkind;
  if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
    ereport(ERROR,
            (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("target \"%s\" is not a table", RelationGetRelationName(rel))));
}

void check_fence_column(const FencedUpdate &update, Relation rel) {
  const Form_pg_attribute fence = column_named(rel, update.fence_column);
  if (fence->atttypid != INT8OID)
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("fence_column \"%s\" is of type %s, it must be bigint",
                                                               update.fence_column, format_type_be(fence->atttypid))));
}

void refuse_fence_in(const Members &members, const char *argument, const char *fence_column) {
  for (int i = 0; i < members.count; i++)
    if (strcmp(NameStr(members.list[i].column->attname), fence_column) == 0)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("%s must not contain the fence column \"%s\"", argument, fence_column)));
}

void refuse_null_key(const Members &key) {
  for (int i = 0; i < key.count; i++)
    if (key.list[i].value.type == jbvNull)
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                      errmsg("key must not contain null: column \"%s\"", NameStr(key.list[i].column->attname))));
}

} // namespace

FencedStatement build_statement(const FencedUpdate &update, Relation rel) {
  check_target(rel);
  check_fence_column(update, rel);
  const Members key = members_of(update.key, rel, false);
  const Members changes = members_of(update.changes, rel, true);
  refuse_fence_in(key, "key", update.fence_column);
  refuse_fence_in(changes, "changes", update.fence_column);
  refuse_null_key(key);
  Oid *equal = static_cast<Oid *>(palloc(sizeof(Oid) * (key.count + 1)));
  if (key.count == 0 || !find_equalities(rel, key, equal))
    ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("key matches no unique index of relation \"%s\"", RelationGetRelationName(rel)),
                    errdetail("Its columns must be exactly those of a unique index that is not deferrable, partial or "
                              "on expressions.")));

  // One a column, the token, and the two documents.
  const size_t most = key.count + changes.count + 3;
  Parameters parameters{0, static_cast<Oid *>(palloc(sizeof(Oid) * most)),
                        static_cast<Datum *>(palloc(sizeof(Datum) * most))};
  int key_document = 0;
  int changes_document = 0;
  const char *fence = quote_identifier(update.fence_column);
  const int token = add_parameter(&parameters, INT8OID, Int64GetDatum(update.token));

  StringInfoData condition;
  initStringInfo(&condition);
  for (int i = 0; i < key.count; i++) {
    append(&condition, {i > 0 ? " AND " : "", alias, ".", quote_identifier(NameStr(key.list[i].column->attname))});
    append_operator(&condition, equal[i]);
    append_value(&condition, key.list[i], &parameters, update.key, &key_document);
  }

  // A unique index of a table with inheritance children says nothing about them.
  const char *only = rel->rd_rel->relkind == RELKIND_RELATION ? "ONLY " : "";
  const char *table =
      quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), RelationGetRelationName(rel));
  StringInfoData text;
  initStringInfo(&text);
  append(&text, {"UPDATE ", only, table, " AS ", alias, " SET ", fence, " = "});
  append_parameter(&text, token);
  for (int i = 0; i < changes.count; i++) {
    append(&text, {", ", quote_identifier(NameStr(changes.list[i].column->attname)), " = "});
    append_value(&text, changes.list[i], &parameters, update.changes, &changes_document);
  }
  append(&text, {" WHERE ", condition.data});
  if (!mutant("fenced_update_condition"))
    append_fence_condition(&text, fence, token, update.any_issuer || generation_of(update.token) == 0);
  append(&text, {" RETURNING ", alias, ".", fence});
  // A row that policies show but do not let be updated is no row here; they ask for that only when it is locked.
  const bool policies = check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED;
  const char *probe = psprintf("SELECT %s.%s FROM %s%s AS %s WHERE %s%s", alias, fence, only, table, alias,
                               condition.data, policies ? " FOR NO KEY UPDATE" : "");
  return {text.data, probe, parameters};
}

} // namespace gatepost
