#include "json.hpp"

#include <cstdio>

namespace gatepost::cli {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
    case '"':
    case '\\':
      result += '\\';
      result += c;
      break;
    case '\n':
      result += "\\n";
      break;
    case '\t':
      result += "\\t";
      break;
    case '\r':
      result += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", c);
        result += escape;
      } else {
        result += c;
      }
    }
  }
  return result + '"';
}

JsonObject &JsonObject::seconds(std::string_view key, double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return raw(key, text);
}

JsonObject &JsonObject::raw(std::string_view key, std::string_view json) {
  if (text_.size() > 1)
    text_ += ',';
  text_ += json_string(key);
  text_ += ':';
  text_ += json;
  return *this;
}

} // namespace gatepost::cli
