#include "rows.hpp"

#include "command.hpp"
#include "duration.hpp"
#include "mutant.hpp"

#include <cstdlib>

namespace gatepost::cli {

JsonObject row_object(const std::vector<Value> &row, const std::vector<Column> &columns) {
  JsonObject object;
  for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i)
    switch (columns[i].kind) {
    case Kind::text:
    case Kind::token:
      object.value(columns[i].name, row[i]);
      break;
    case Kind::boolean:
      object.raw(columns[i].name, !row[i] ? "null" : row[i] == "t" ? "true" : "false");
      break;
    case Kind::number:
    case Kind::json:
      object.written(columns[i].name, row[i]);
      break;
    case Kind::seconds:
      if (row[i])
        object.seconds(columns[i].name, std::strtod(row[i]->c_str(), nullptr));
      else
        object.raw(columns[i].name, "null");
      break;
    }
  return object;
}

std::string moment(bool json, const std::string &column) {
  if (!json || mutant("times_as_set"))
    return column;
  return "to_char(" + column + R"( AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))";
}

void print_json(const Rows &rows, const std::vector<Column> &columns) {
  for (const auto &row : rows.rows)
    print(row_object(row, columns).str());
}

Colour state_colour(const std::string &state) {
  if (state == "held")
    return Colour::green;
  if (state == "in_flight" || state == "recovering")
    return Colour::yellow;
  if (state == "released")
    return Colour::dim;
  return Colour::red;
}

std::string seconds_text(const Value &seconds) {
  if (!seconds)
    return {};
  return duration_text(
      std::chrono::nanoseconds{static_cast<std::int64_t>(std::strtod(seconds->c_str(), nullptr) * 1e9)});
}

} // namespace gatepost::cli
