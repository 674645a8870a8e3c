// One line of JSON, written as it goes. Tokens are strings, since a reader's numbers may be doubles.
#pragma once

#include "mutant.hpp"

#include <gatepost/connection.hpp>
#include <gatepost/token.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace gatepost::cli {

std::string json_string(std::string_view text);

class JsonObject {
public:
  JsonObject &text(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }
  JsonObject &value(std::string_view key, const Value &value) { return raw(key, value ? json_string(*value) : "null"); }
  JsonObject &token(std::string_view key, Token token) {
    return mutant("tokens_as_numbers") ? raw(key, to_string(token)) : text(key, to_string(token));
  }
  JsonObject &number(std::string_view key, long long value) { return raw(key, std::to_string(value)); }
  /// Seconds, with three decimals.
  JsonObject &seconds(std::string_view key, double value);
  JsonObject &boolean(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  /// A number or JSON that the server wrote; NULL is null.
  JsonObject &written(std::string_view key, const Value &value) { return raw(key, value.value_or("null")); }
  JsonObject &raw(std::string_view key, std::string_view json);
  std::string str() const { return text_ + '}'; }

private:
  std::string text_ = "{";
};

} // namespace gatepost::cli
