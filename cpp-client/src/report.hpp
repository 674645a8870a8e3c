// libpq's report of an error, a text of several lines, taken apart.
#pragma once

#include <string>
#include <string_view>

namespace gatepost::inline v0::detail {

struct Report {
  std::string message, detail, hint;
};

/// "ERROR:  the message\nDETAIL:  ..\nHINT:  ..\nCONTEXT:  ..\n". What stands between them, the place in the statement,
/// and what comes after them is left out. In another language than English the labels are not known: then all that
/// follows the message is its detail.
Report parse_report(std::string_view text);

/// Without line breaks, tabs, and what surrounds it.
std::string one_line(std::string_view text);

} // namespace gatepost::inline v0::detail
