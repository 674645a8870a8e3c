// The members of a document that names columns and their values.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

struct Member {
  std::string_view name; // inside the document
  JsonbValue value;
};

struct Document {
  Jsonb *stored;
  int count;
  Member *members;
};

// How the value of a member gets into a statement.
enum class ValueKind : char {
  null,      // as NULL
  parameter, // as a parameter of the column's type
  converted  // an array or object for another type than json: by the server's own conversion, from the whole document
};

Document read_document(Jsonb *stored);

ValueKind kind_of(const Member &member, Oid column_type);

// The value of a member that goes as a parameter, read by the column type's input function.
Datum input_value(const Member &member, Oid column_type, int32 typmod);

} // namespace gatepost
