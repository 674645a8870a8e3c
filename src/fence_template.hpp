// Names made of a row's columns: 'order:{id}'. A brace that is meant as such is doubled.
#pragma once

#include "pg.hpp"

#include <string_view>

namespace gatepost {

// Whether the text names a column.
bool is_template(const char *text);

// The text of a plain name, doubled braces undone. Result: palloc'd.
const char *plain_name(const char *text);

struct TemplatePart {
  const char *text; // literal, or the column's name
  int size;
  AttrNumber column; // 0: literal
  Oid type;
  Datum last; // value of the row before, while the template is of values that fit into a Datum
};

struct Template {
  int count;
  TemplatePart *parts;
  bool by_value; // every column
};

// Whether the row names the same lease as the one before, as far as can be told without making its name. Keeps its
// values for the next one.
bool names_the_same(Template *parsed, Relation rel, HeapTuple row);

// Resolves the columns. Errors: 22023 for braces that do not pair, 42703 unknown column, 42804 for a type whose text
// depends on settings or whose equal values have several texts, or a generated column.
Template parse_template(const char *text, Relation rel);

// What parse_template() would refuse in the columns as they are now: texts.
List *template_gaps(const char *text, Oid relation);

// The name for one row, in a buffer of this function's that is good until its next call but one. Errors: LG003 when a
// column is null, 22023 when the name is empty or too long.
std::string_view name_of_row(const Template &parsed, Relation rel, HeapTuple row);

} // namespace gatepost
