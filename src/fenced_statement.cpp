#include "fenced_statement.hpp"

#include "mutant.hpp"
#include "fenced_shapes.hpp"
#include "token_layout.hpp"

#include <algorithm>
#include <initializer_list>

namespace gatepost {
namespace {

constexpr const char *alias = "gatepost_target";

void append(StringInfo text, std::initializer_list<const char *> pieces) {
  for (const char *piece : pieces)
    appendStringInfoString(text, piece);
}

void append_parameter(StringInfo text, int number) {
  char digits[12];
  pg_ltoa(number, digits);
  append(text, {"$", digits});
}

// The columns that a document names.
struct Columns {
  int count;
  Form_pg_attribute *list;
};

[[noreturn]] void refuse_column(Relation rel, std::string_view column) {
  // What was asked for may be of any length.
  constexpr int most = 128;
  const int size = static_cast<int>(column.size());
  ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                  errmsg("column \"%.*s%s\" of relation \"%s\" does not exist", pg_mbcliplen(column.data(), size, most),
                         column.data(), size > most ? "..." : "", RelationGetRelationName(rel))));
}

Form_pg_attribute column_named(Relation rel, std::string_view name) {
  const TupleDesc description = RelationGetDescr(rel);
  for (int i = 0; i < description->natts; i++) {
    const Form_pg_attribute column = TupleDescAttr(description, i);
    if (!column->attisdropped && name == NameStr(column->attname))
      return column;
  }
  refuse_column(rel, name);
}

Columns columns_of(const Document &document, Relation rel) {
  Columns columns{document.count,
                  static_cast<Form_pg_attribute *>(palloc(sizeof(Form_pg_attribute) * (document.count + 1)))};
  for (int i = 0; i < document.count; i++)
    columns.list[i] = column_named(rel, document.members[i].name);
  return columns;
}

// The unique index whose columns are exactly the key's. Its operators say what equal means.
bool matches_key(Relation index, const Columns &key) {
  const Form_pg_index form = index->rd_index;
  if (!form->indisunique || !form->indimmediate || !form->indisvalid || !form->indisready ||
      form->indnkeyatts != key.count || RelationGetIndexExpressions(index) != NIL ||
      RelationGetIndexPredicate(index) != NIL || index->rd_rel->relam != BTREE_AM_OID)
    return false;
  for (int i = 0; i < form->indnkeyatts; i++) {
    bool found = false;
    for (int j = 0; j < key.count; j++)
      found = found ||
              (key.list[j]->attnum == form->indkey.values[i] && key.list[j]->attcollation == index->rd_indcollation[i]);
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
bool find_equalities(Relation rel, const Columns &key, Oid *equal) {
  bool found = false;
  List *indexes = RelationGetIndexList(rel);
  ListCell *cell;
  foreach (cell, indexes) {
    Relation index = index_open(lfirst_oid(cell), AccessShareLock);
    if (!found && matches_key(index, key)) {
      found = true;
      for (int i = 0; i < key.count; i++) {
        equal[i] = equality_of(index, key.list[i]->attnum);
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

// Parameters are numbered as they are added here, in this order: token, one for each member that goes as one, the
// documents that are converted from, and the first token of the token's generation and its nonce.
struct Numbers {
  int next = 1;
  int take() { return next++; }
};

bool converts(const FencedColumn *columns, int count) {
  return std::any_of(columns, columns + count,
                     [](const FencedColumn &column) { return column.kind == ValueKind::converted; });
}

void append_conversion(StringInfo text, Form_pg_attribute column, int32 typmod, int document) {
  const char *name = quote_identifier(NameStr(column->attname));
  appendStringInfo(
      text, "(SELECT r.%s FROM pg_catalog.jsonb_to_record($%d) AS r(%s %s))", name, document, name,
      format_type_extended(column->atttypid, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
}

// Appends the value of a member as an expression.
void append_value(StringInfo text, Form_pg_attribute column, const FencedColumn &value, Numbers *numbers,
                  int document) {
  switch (value.kind) {
  case ValueKind::null:
    appendStringInfoString(text, "NULL");
    return;
  case ValueKind::parameter:
    append_parameter(text, numbers->take());
    return;
  case ValueKind::converted:
    append_conversion(text, column, value.typmod, document);
  }
}

// Neither older than the mark nor, among tokens of this server's layout, of another history: src/split_history.hpp. A
// mark that is not newer is of the token's generation when it is not below the first token of that.
void append_fence_condition(StringInfo text, const char *fence, int token, bool splits, Numbers *numbers) {
  append(text, {" AND (", alias, ".", fence, " IS NULL OR (", alias, ".", fence, " OPERATOR(pg_catalog.<=) "});
  append_parameter(text, token);
  if (splits && !mutant("splits_pass_unprotected")) {
    append(text, {" AND (", alias, ".", fence, " OPERATOR(pg_catalog.<) "});
    append_parameter(text, numbers->take());
    append(text, {" OR (", alias, ".", fence, " OPERATOR(pg_catalog.&) "});
    appendStringInfo(text, INT64_FORMAT "::pg_catalog.int8", token_step - 1);
    append(text, {") OPERATOR(pg_catalog.=) "});
    append_parameter(text, numbers->take());
    append(text, {")"});
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

void refuse_fence_in(const Document &document, const char *argument, const char *fence_column) {
  for (int i = 0; i < document.count; i++)
    if (document.members[i].name == fence_column)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("%s must not contain the fence column \"%s\"", argument, fence_column)));
}

void refuse_null_key(const Document &key, const Columns &columns) {
  for (int i = 0; i < key.count; i++)
    if (key.members[i].value.type == jbvNull)
      ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                      errmsg("key must not contain null: column \"%s\"", NameStr(columns.list[i]->attname))));
}

FencedColumn *values_of(const Document &document, const Columns &columns, bool stored, FencedColumn *values) {
  for (int i = 0; i < document.count; i++) {
    const Form_pg_attribute column = columns.list[i];
    *values++ = {column->atttypid, stored ? column->atttypmod : -1, kind_of(document.members[i], column->atttypid)};
  }
  return values;
}

void build_text(const FencedUpdate &update, Relation rel, const FencedShape &shape, FencedText *result) {
  check_target(rel);
  check_fence_column(update, rel);
  const Document &key = shape.key;
  const Document &changes = shape.changes;
  const Columns key_columns = columns_of(key, rel);
  const Columns changed_columns = columns_of(changes, rel);
  refuse_fence_in(key, "key", update.fence_column);
  refuse_fence_in(changes, "changes", update.fence_column);
  refuse_null_key(key, key_columns);
  Oid *equal = static_cast<Oid *>(palloc(sizeof(Oid) * (key.count + 1)));
  if (key.count == 0 || !find_equalities(rel, key_columns, equal))
    ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("key matches no unique index of relation \"%s\"", RelationGetRelationName(rel)),
                    errdetail("Its columns must be exactly those of a unique index that is not deferrable, partial or "
                              "on expressions.")));

  auto key_values = static_cast<FencedColumn *>(palloc(sizeof(FencedColumn) * (key.count + changes.count + 1)));
  FencedColumn *const changed_values = values_of(key, key_columns, false, key_values);
  values_of(changes, changed_columns, true, changed_values);
  const auto parameters = [](const FencedColumn *values, int count) {
    return static_cast<int>(std::count_if(
        values, values + count, [](const FencedColumn &value) { return value.kind == ValueKind::parameter; }));
  };
  Numbers numbers;
  const int token = numbers.take();
  Numbers documents{numbers.next + parameters(key_values, key.count + changes.count)};
  const int key_document = converts(key_values, key.count) ? documents.take() : 0;
  const int changes_document = converts(changed_values, changes.count) ? documents.take() : 0;

  StringInfoData condition;
  initStringInfo(&condition);
  for (int i = 0; i < key.count; i++) {
    append(&condition, {i > 0 ? " AND " : "", alias, ".", quote_identifier(NameStr(key_columns.list[i]->attname))});
    append_operator(&condition, equal[i]);
    append_value(&condition, key_columns.list[i], key_values[i], &numbers, key_document);
  }

  const char *fence = quote_identifier(update.fence_column);
  // A unique index of a table with inheritance children says nothing about them.
  const char *only = rel->rd_rel->relkind == RELKIND_RELATION ? "ONLY " : "";
  const char *table =
      quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), RelationGetRelationName(rel));
  StringInfoData text;
  initStringInfo(&text);
  append(&text, {"UPDATE ", only, table, " AS ", alias, " SET ", fence, " = "});
  append_parameter(&text, token);
  for (int i = 0; i < changes.count; i++) {
    append(&text, {", ", quote_identifier(NameStr(changed_columns.list[i]->attname)), " = "});
    append_value(&text, changed_columns.list[i], changed_values[i], &numbers, changes_document);
  }
  append(&text, {" WHERE ", condition.data});
  if (!mutant("fenced_update_condition"))
    append_fence_condition(&text, fence, token, shape.splits, &documents);
  result->returns_mark = may_change_mark(rel);
  if (result->returns_mark)
    append(&text, {" RETURNING ", alias, ".", fence});
  result->update = text.data;
  // A row that policies show but do not let be updated is no row here; they ask for that only when it is locked.
  result->probe = psprintf("SELECT %s.%s FROM %s%s AS %s WHERE %s%s", alias, fence, only, table, alias, condition.data,
                           shape.policies ? " FOR NO KEY UPDATE" : "");
  result->columns = key_values;
}

void add_parameter(Parameters *parameters, Oid type, Datum value) {
  parameters->types[parameters->count] = type;
  parameters->values[parameters->count++] = value;
}

void add_values(Parameters *parameters, const Document &document, const FencedColumn *columns) {
  for (int i = 0; i < document.count; i++)
    if (columns[i].kind == ValueKind::parameter)
      add_parameter(parameters, columns[i].type, input_value(document.members[i], columns[i].type, columns[i].typmod));
}

void add_document(Parameters *parameters, const Document &document, const FencedColumn *columns) {
  if (converts(columns, document.count))
    add_parameter(parameters, JSONBOID, JsonbPGetDatum(document.stored));
}

Parameters parameters_of(const FencedUpdate &update, const FencedShape &shape, const FencedText &text) {
  // The token and two made of it, one a member, and the documents.
  const size_t most = 3 + shape.key.count + shape.changes.count + 2;
  Parameters parameters{0, static_cast<Oid *>(palloc(sizeof(Oid) * most)),
                        static_cast<Datum *>(palloc(sizeof(Datum) * most))};
  const FencedColumn *changed = text.columns + shape.key.count;
  add_parameter(&parameters, INT8OID, Int64GetDatum(update.token));
  add_values(&parameters, shape.key, text.columns);
  add_values(&parameters, shape.changes, changed);
  add_document(&parameters, shape.key, text.columns);
  add_document(&parameters, shape.changes, changed);
  if (shape.splits) {
    add_parameter(&parameters, INT8OID, Int64GetDatum(token_of(generation_of(update.token), 0, 0)));
    add_parameter(&parameters, INT8OID, Int64GetDatum(nonce_of(update.token)));
  }
  return parameters;
}

} // namespace

bool may_change_mark(Relation rel) {
  return rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rules != nullptr ||
         (rel->trigdesc != nullptr && rel->trigdesc->trig_update_before_row && !mutant("before_triggers_overlooked"));
}

FencedStatement build_statement(const FencedUpdate &update, Relation rel) {
  const bool policies = check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED;
  const FencedShape shape{RelationGetRelid(rel),
                          update.fence_column,
                          !update.any_issuer && generation_of(update.token) != 0,
                          policies,
                          read_document(update.key),
                          read_document(update.changes)};
  FencedText text;
  if (!recall_text(shape, &text)) {
    build_text(update, rel, shape, &text);
    remember_text(shape, text);
  }
  return {text.update, text.probe, text.returns_mark, parameters_of(update, shape, text)};
}

} // namespace gatepost
