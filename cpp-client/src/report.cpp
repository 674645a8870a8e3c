#include "report.hpp"

#include "mutant.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gatepost::inline v0::detail {

namespace {

constexpr std::string_view blank = " \t\r\n\f\v";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Where the text behind a label begins: after a colon and two spaces. 0: the line has no label.
std::size_t label_end(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || !line.substr(colon).starts_with(":  "))
    return 0;
  return colon + 3;
}

/// "LINE 1: SELECT ..", and a caret below it.
bool is_caret(std::string_view line) {
  const std::size_t caret = line.find_first_not_of(' ');
  return caret != std::string_view::npos && line.substr(caret) == "^";
}

} // namespace

std::string one_line(std::string_view text) {
  std::string line;
  const std::size_t begin = std::min(text.find_first_not_of(blank), text.size());
  text = text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
  while (!text.empty()) {
    const std::size_t run = std::min(text.find_first_of(blank), text.size());
    line += text.substr(0, run);
    text.remove_prefix(run);
    const std::size_t end = std::min(text.find_first_not_of(blank), text.size());
    const std::string_view between = text.substr(0, end);
    // Spaces are the message's own.
    line += between.find_first_not_of(' ') == std::string_view::npos ? between : " ";
    text.remove_prefix(end);
  }
  return line;
}

Report parse_report(std::string_view text) {
  if (mutant("report_unparsed"))
    return {std::string{text}, {}, {}};
  std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 1; i + 1 < lines.size(); ++i)
    if (is_caret(lines[i + 1]))
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i), lines.begin() + static_cast<std::ptrdiff_t>(i) + 2);
  Report report;
  std::string *part = &report.message, unused;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (const std::size_t end = label_end(line); end != 0 && i == 0) {
      line.remove_prefix(end);
    } else if (end != 0) {
      constexpr std::array left_out{"QUERY",      "CONTEXT",     "LOCATION",      "SCHEMA NAME",
                                    "TABLE NAME", "COLUMN NAME", "DATATYPE NAME", "CONSTRAINT NAME"};
      const std::string_view label = line.substr(0, end - 3);
      part = label == "DETAIL" ? &report.detail : label == "HINT" ? &report.hint : &unused;
      if (part != &unused || std::find(left_out.begin(), left_out.end(), label) != left_out.end())
        line.remove_prefix(end);
      else
        part = &report.detail;
    }
    if (!part->empty())
      *part += '\n';
    *part += line;
  }
  for (std::string *each : {&report.message, &report.detail, &report.hint})
    *each = one_line(*each);
  return report;
}

} // namespace gatepost::inline v0::detail
