#include "quoted.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

// Controls of Unicode beside ASCII's: C1, line and paragraph separators, directions, what has no width.
bool hides(pg_wchar point) {
  return (point >= 0x80 && point < 0xa0) || point == 0x61c || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

void append_bytes_escaped(StringInfo line, std::string_view bytes) {
  for (const char byte : bytes)
    appendStringInfo(line, "\\x%02x", static_cast<unsigned char>(byte));
}

void append_ascii(StringInfo line, char byte) {
  switch (byte) {
  case '"':
  case '\\':
    appendStringInfo(line, "\\%c", byte);
    return;
  case '\n':
    appendStringInfoString(line, "\\n");
    return;
  case '\r':
    appendStringInfoString(line, "\\r");
    return;
  case '\t':
    appendStringInfoString(line, "\\t");
    return;
  default:
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f)
      append_bytes_escaped(line, {&byte, 1});
    else
      appendStringInfoChar(line, byte);
  }
}

// In encodings other than UTF-8 nobody knows how the reader of the log takes the bytes above ASCII.
void append_other(StringInfo line, std::string_view character) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(character.data());
  if (GetDatabaseEncoding() != PG_UTF8 || hides(utf8_to_unicode(bytes)))
    append_bytes_escaped(line, character);
  else
    appendBinaryStringInfo(line, character.data(), static_cast<int>(character.size()));
}

size_t character_size(std::string_view rest) {
  if (GetDatabaseEncoding() != PG_UTF8)
    return 1;
  const auto *bytes = reinterpret_cast<const unsigned char *>(rest.data());
  return Min(static_cast<size_t>(pg_utf_mblen(bytes)), rest.size());
}

} // namespace

void append_quoted(StringInfo line, std::string_view value, int shown) {
  const bool cut = value.size() > static_cast<size_t>(shown);
  std::string_view rest =
      cut ? value.substr(0, pg_mbcliplen(value.data(), static_cast<int>(value.size()), shown)) : value;
  appendStringInfoChar(line, '"');
  while (!rest.empty()) {
    const size_t size = character_size(rest);
    if (mutant("log_line_forged"))
      appendBinaryStringInfo(line, rest.data(), static_cast<int>(size));
    else if (static_cast<unsigned char>(rest.front()) < 0x80)
      append_ascii(line, rest.front());
    else
      append_other(line, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  appendStringInfoString(line, cut ? "\"..." : "\"");
}

} // namespace gatepost
