#include "fenced_document.hpp"

namespace gatepost {
namespace {

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

} // namespace

Document read_document(Jsonb *stored) {
  Document document{stored, 0, static_cast<Member *>(palloc(sizeof(Member) * (JB_ROOT_COUNT(stored) + 1)))};
  JsonbIterator *iterator = JsonbIteratorInit(&stored->root);
  JsonbValue value;
  std::string_view name;
  for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
       token = JsonbIteratorNext(&iterator, &value, true)) {
    if (token == WJB_KEY)
      name = {value.val.string.val, static_cast<size_t>(value.val.string.len)};
    else if (token == WJB_VALUE)
      document.members[document.count++] = {name, value};
  }
  return document;
}

ValueKind kind_of(const Member &member, Oid column_type) {
  switch (member.value.type) {
  case jbvNull:
    return ValueKind::null;
  case jbvBinary:
    return is_json(column_type) ? ValueKind::parameter : ValueKind::converted;
  default:
    return ValueKind::parameter;
  }
}

Datum input_value(const Member &member, Oid column_type, int32 typmod) {
  Oid input;
  Oid parameter;
  getTypeInputInfo(column_type, &input, &parameter);
  return OidInputFunctionCall(input, input_text(member.value, column_type), parameter, typmod);
}

} // namespace gatepost
