// Who held what when, out of the history, and which writes were refused.
#pragma once

#include <string>
#include <vector>

namespace gatepost::cli {

/// Moments are seconds since 1970.
struct Term {
  enum class End { released, lapsed, broken, held };
  std::string name, owner, token;
  double begin = 0, end = 0;
  End how = End::released;
  bool takeover = false; ///< of a lease that had lapsed
  bool known_end = true; ///< false: it ended before `end`, the history does not say when
};

struct Refusal {
  std::string name, owner, token, relation, reason;
  double at = 0;
  int term = -1; ///< whose token it was
};

struct Timeline {
  double begin = 0, end = 0;
  std::vector<Term> terms;
  std::vector<Refusal> refusals;
};

/// A picture that needs nothing beside it.
std::string svg(const Timeline &timeline);
/// The picture on a page, with a table of what it shows.
std::string html(const Timeline &timeline);

/// "2026-11-30 09:58:25", of this machine's time zone; with milliseconds when they matter.
std::string clock_text(double moment, bool with_date, bool with_milliseconds);

} // namespace gatepost::cli
