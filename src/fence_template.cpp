#include "fence_template.hpp"

#include "arguments.hpp"
#include "errors.hpp"
#include "mutant.hpp"

namespace gatepost {
namespace {

[[noreturn]] void refuse_braces(const char *text) {
  ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("lease \"%s\" has a brace without its pair", text),
                  errhint("Write {column}, or a brace twice where one is meant.")));
}

// The next piece of a template: a literal (a single doubled brace counts as one) or {column}.
struct Piece {
  const char *text;
  int size;
  bool column;
};

bool next_piece(const char *whole, const char **rest, Piece *piece) {
  const char *at = *rest;
  if (*at == '\0')
    return false;
  if (at[0] == '{' && at[1] != '{') {
    const char *end = strchr(at, '}');
    if (end == nullptr || end == at + 1)
      refuse_braces(whole);
    *piece = {at + 1, static_cast<int>(end - at - 1), true};
    *rest = end + 1;
    return true;
  }
  if (at[0] == '{' || at[0] == '}') {
    if (at[1] != at[0])
      refuse_braces(whole);
    *piece = {at, 1, false};
    *rest = at + 2;
    return true;
  }
  const size_t size = strcspn(at, "{}");
  *piece = {at, static_cast<int>(size), false};
  *rest = at + size;
  return true;
}

// The text of these types depends on no setting, and equal values have one text.
bool is_fit(Form_pg_attribute column) {
  switch (getBaseType(column->atttypid)) {
  case INT2OID:
  case INT4OID:
  case INT8OID:
  case UUIDOID:
  case BOOLOID:
    return true;
  case TEXTOID:
  case VARCHAROID:
    return get_collation_isdeterministic(column->attcollation);
  default:
    return false;
  }
}

AttrNumber column_for(Relation rel, const char *name) {
  const AttrNumber number = get_attnum(RelationGetRelid(rel), name);
  if (number <= 0)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                    errmsg("column \"%s\" of relation \"%s\" does not exist", name, RelationGetRelationName(rel)),
                    errdetail("The name of the lease is made of it.")));
  const Form_pg_attribute column = TupleDescAttr(RelationGetDescr(rel), number - 1);
  if (column->attgenerated != '\0')
    ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("generated column \"%s\" cannot be part of the name of a lease", name)));
  if (!is_fit(column) && !mutant("template_types_unchecked"))
    ereport(ERROR,
            (errcode(ERRCODE_DATATYPE_MISMATCH),
             errmsg("column \"%s\" of type %s cannot be part of the name of a lease", name,
                    format_type_be(column->atttypid)),
             errdetail("Its text depends on settings, or equal values have several texts."),
             errhint("Columns of type smallint, integer, bigint, uuid, boolean, text and varchar with a deterministic "
                     "collation can be.")));
  return number;
}

char *append(char *end, const char *limit, const char *text, size_t size) {
  if (end + size > limit)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the name of the row's lease is longer than %d bytes", max_name_bytes)));
  memcpy(end, text, size);
  return end + size;
}

char *append_value(char *end, const char *limit, Oid type, Datum value) {
  char digits[MAXINT8LEN + 1];
  switch (type) {
  case INT2OID:
    return append(end, limit, digits, pg_ltoa(DatumGetInt16(value), digits));
  case INT4OID:
    return append(end, limit, digits, pg_ltoa(DatumGetInt32(value), digits));
  case INT8OID:
    return append(end, limit, digits, pg_lltoa(DatumGetInt64(value), digits));
  case BOOLOID:
    return DatumGetBool(value) ? append(end, limit, "true", 4) : append(end, limit, "false", 5);
  case UUIDOID: {
    const char *text = DatumGetCString(DirectFunctionCall1(uuid_out, value));
    return append(end, limit, text, strlen(text));
  }
  default: {
    const text *string = DatumGetTextPP(value);
    return append(end, limit, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
  }
  }
}

} // namespace

bool is_template(const char *text) {
  Piece piece;
  for (const char *rest = text; next_piece(text, &rest, &piece);)
    if (piece.column)
      return true;
  return false;
}

const char *plain_name(const char *text) {
  StringInfoData name;
  initStringInfo(&name);
  Piece piece;
  for (const char *rest = text; next_piece(text, &rest, &piece);)
    appendBinaryStringInfo(&name, piece.text, piece.size);
  return name.data;
}

Template parse_template(const char *text, Relation rel) {
  Template parsed{0, static_cast<TemplatePart *>(palloc(sizeof(TemplatePart) * (strlen(text) + 1))), true};
  Piece piece;
  for (const char *rest = text; next_piece(text, &rest, &piece);) {
    TemplatePart part{piece.text, piece.size, 0, InvalidOid, Datum{0}};
    if (piece.column) {
      part.column = column_for(rel, pnstrdup(piece.text, piece.size));
      part.type = getBaseType(TupleDescAttr(RelationGetDescr(rel), part.column - 1)->atttypid);
      parsed.by_value = parsed.by_value && TupleDescAttr(RelationGetDescr(rel), part.column - 1)->attbyval;
    }
    parsed.parts[parsed.count++] = part;
  }
  return parsed;
}

bool names_the_same(Template *parsed, Relation rel, HeapTuple row) {
  if (!parsed->by_value)
    return false;
  bool same = true;
  for (int i = 0; i < parsed->count; i++) {
    TemplatePart &part = parsed->parts[i];
    if (part.column == 0)
      continue;
    bool isnull;
    const Datum value = heap_getattr(row, part.column, RelationGetDescr(rel), &isnull);
    same = same && !isnull && value == part.last;
    part.last = value;
  }
  return same;
}

List *template_gaps(const char *text, Oid relation) {
  List *gaps = NIL;
  Piece piece;
  for (const char *rest = text; next_piece(text, &rest, &piece);) {
    if (!piece.column)
      continue;
    const char *name = pnstrdup(piece.text, piece.size);
    HeapTuple tuple = SearchSysCacheAttName(relation, name);
    if (!HeapTupleIsValid(tuple)) {
      gaps = lappend(gaps, psprintf("column %s does not exist", name));
      continue;
    }
    const auto column = reinterpret_cast<Form_pg_attribute>(GETSTRUCT(tuple));
    if (column->attgenerated != '\0')
      gaps = lappend(gaps, psprintf("column %s is generated", name));
    else if (!is_fit(column))
      gaps = lappend(gaps, psprintf("column %s is of type %s", name, format_type_be(column->atttypid)));
    ReleaseSysCache(tuple);
  }
  return gaps;
}

std::string_view name_of_row(const Template &parsed, Relation rel, HeapTuple row) {
  // A row that changes its name has two.
  static char buffers[2][max_name_bytes];
  static int turn;
  turn = 1 - turn;
  char *const buffer = buffers[turn];
  const char *const limit = buffer + max_name_bytes;
  char *end = buffer;
  for (int i = 0; i < parsed.count; i++) {
    const TemplatePart &part = parsed.parts[i];
    if (part.column == 0) {
      end = append(end, limit, part.text, part.size);
      continue;
    }
    bool isnull;
    const Datum value = heap_getattr(row, part.column, RelationGetDescr(rel), &isnull);
    if (isnull)
      ereport(ERROR, (errcode(token_required), errmsg("the row of \"%s\" has no lease: column \"%.*s\" is null",
                                                      RelationGetRelationName(rel), part.size, part.text)));
    end = append_value(end, limit, part.type, value);
  }
  if (end == buffer)
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the name of the row's lease is empty")));
  return {buffer, static_cast<size_t>(end - buffer)};
}

} // namespace gatepost
