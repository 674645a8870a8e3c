// Rows of the server as JSON and as a table.
#pragma once

#include "json.hpp"
#include "terminal.hpp"

#include <gatepost/connection.hpp>

#include <string>
#include <vector>

namespace gatepost::cli {

enum class Kind { text, number, boolean, token, json, seconds };

struct Column {
  const char *name;
  Kind kind = Kind::text;
};

JsonObject row_object(const std::vector<Value> &row, const std::vector<Column> &columns);
/// For a query: a column with a moment. For programs as RFC 3339 in UTC, whatever the session is set to; for people as
/// their session has it.
std::string moment(bool json, const std::string &column);
/// Each row as a line.
void print_json(const Rows &rows, const std::vector<Column> &columns);

/// green: held; yellow: about to change; red: lost.
Colour state_colour(const std::string &state);

/// Seconds as the server writes them, for people; empty for NULL.
std::string seconds_text(const Value &seconds);

} // namespace gatepost::cli
