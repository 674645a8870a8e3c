#include "timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>

namespace gatepost::cli {

namespace {

constexpr double left = 250, width = 900, right = 30, row_height = 26, name_height = 30, top = 58;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      result += c;
    else
      result += '?';
  }
  return result;
}

/// By characters of UTF-8.
std::string cut(const std::string &text, std::size_t most) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++count > most)
      return text.substr(0, i) + "…";
  return text;
}

std::string format(const char *pattern, double a, double b = 0, double c = 0, double d = 0) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, a, b, c, d);
  return text;
}

/// Seconds between marks of the axis, so that there are five to ten.
double step_for(double length) {
  static constexpr double steps[] = {0.001,  0.002,  0.005,   0.01,    0.02,    0.05,    0.1,   0.2,   0.5,
                                     1,      2,      5,       10,      15,      30,      60,    120,   300,
                                     600,    900,    1800,    3600,    7200,    10800,   21600, 43200, 86400,
                                     172800, 604800, 1209600, 2592000, 7776000, 31536000};
  for (const double step : steps)
    if (length / step <= 9)
      return step;
  return length / 9;
}

/// A row of the picture: one holder of one name, or, where these are many, whoever fits beside each other.
struct Row {
  std::string name, label;
  std::vector<std::size_t> terms{}, refusals{};
  double busy_until = -1;
  bool first = false; ///< of its name
};

std::vector<Row> rows_of(const Timeline &timeline) {
  constexpr std::size_t most_owners = 12;
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> owners;
  for (const Term &term : timeline.terms) {
    if (owners.find(term.name) == owners.end())
      names.push_back(term.name);
    std::vector<std::string> &known = owners[term.name];
    if (std::find(known.begin(), known.end(), term.owner) == known.end())
      known.push_back(term.owner);
  }
  std::vector<Row> rows;
  std::vector<std::size_t> row_of(timeline.terms.size());
  for (const std::string &name : names) {
    const std::size_t begin = rows.size();
    const bool by_owner = owners[name].size() <= most_owners;
    if (by_owner)
      for (const std::string &owner : owners[name])
        rows.push_back({name, owner});
    for (std::size_t i = 0; i < timeline.terms.size(); ++i) {
      const Term &term = timeline.terms[i];
      if (term.name != name)
        continue;
      std::size_t row = begin;
      if (by_owner)
        while (rows[row].label != term.owner)
          ++row;
      else
        while (row < rows.size() && rows[row].busy_until > term.begin)
          ++row;
      if (row == rows.size())
        rows.push_back({name, std::to_string(owners[name].size()) + " holders"});
      rows[row].terms.push_back(i);
      rows[row].busy_until = term.end;
      row_of[i] = row;
    }
    rows[begin].first = true;
  }
  for (std::size_t i = 0; i < timeline.refusals.size(); ++i) {
    const Refusal &refusal = timeline.refusals[i];
    if (refusal.term >= 0) {
      rows[row_of[static_cast<std::size_t>(refusal.term)]].refusals.push_back(i);
      continue;
    }
    const std::string name = refusal.name.empty() ? refusal.relation : refusal.name, label = "without its token";
    auto place =
        std::find_if(rows.begin(), rows.end(), [&](const Row &row) { return row.name == name && row.label == label; });
    if (place == rows.end()) {
      // After the rows of its name.
      const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](const Row &row) { return row.name == name; });
      const bool fresh = last == rows.rend();
      const auto at = fresh ? rows.size() : static_cast<std::size_t>(rows.rend() - last);
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), Row{name, label});
      rows[at].first = fresh;
      for (std::size_t &row : row_of)
        row += row >= at ? 1 : 0;
      place = rows.begin() + static_cast<std::ptrdiff_t>(at);
    }
    place->refusals.push_back(i);
  }
  return rows;
}

const char *end_text(const Term &term) {
  switch (term.how) {
  case Term::End::held:
    return "held";
  case Term::End::lapsed:
    return "lapsed";
  case Term::End::broken:
    return "broken";
  case Term::End::released:
    return "released";
  }
  return "";
}

constexpr const char *style = R"(
    .gatepost text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; }
    .gatepost .title { font-size: 16px; font-weight: 600; }
    .gatepost .name { font-weight: 600; }
    .gatepost .soft { fill: #656d76; }
    .gatepost .span { font-size: 12px; font-weight: 400; }
    .gatepost .paper { fill: #ffffff; }
    .gatepost .grid { stroke: #d8dee4; stroke-width: 1; }
    .gatepost .line { stroke: #afb8c1; stroke-width: 1; }
    .gatepost .term { fill: #54aeff; }
    .gatepost .takeover { fill: #f0a04b; }
    .gatepost .open { opacity: 0.55; }
    .gatepost .inside { fill: #06203f; font-size: 11px; pointer-events: none; }
    .gatepost .broken { stroke: #cf222e; stroke-width: 3; }
    .gatepost .lapsed { stroke: #9a6700; stroke-width: 2; stroke-dasharray: 3 2; }
    .gatepost .refusal { stroke: #cf222e; stroke-width: 2.5; fill: none; stroke-linecap: round; }
)";

class Drawing {
public:
  explicit Drawing(const Timeline &timeline) : timeline_{timeline}, rows_{rows_of(timeline)} {
    const double length = timeline.end - timeline.begin;
    begin_ = timeline.begin - length * 0.01;
    scale_ = width / (length * 1.03);
    seconds_ = length * 1.03;
    double y = top;
    for (const Row &row : rows_) {
      y += row.first ? name_height : 0;
      at_.push_back(y);
      y += row_height;
    }
    bottom_ = y + 6;
  }

  std::string draw() {
    const double height = bottom_ + 66;
    text_ =
        format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gatepost\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" "
               "width=\"%.0f\" height=\"%.0f\">\n",
               left + width + right, height, left + width + right, height);
    const std::string span = clock_text(timeline_.begin, true, false) + " to " +
                             clock_text(timeline_.end,
                                        clock_text(timeline_.begin, true, false).substr(0, 10) !=
                                            clock_text(timeline_.end, true, false).substr(0, 10),
                                        false);
    text_ += "  <title>Who held what, " + span + "</title>\n  <style>" + style + "  </style>\n";
    text_ += format("  <rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", left + width + right, height);
    text_ += "  <text class=\"title\" x=\"16\" y=\"26\">Who held what<tspan class=\"soft span\" dx=\"14\">" + span +
             "</tspan></text>\n";
    axis();
    for (std::size_t i = 0; i < rows_.size(); ++i)
      row(rows_[i], at_[i]);
    legend();
    return text_ + "</svg>\n";
  }

private:
  double x(double moment) const { return left + (moment - begin_) * scale_; }

  void label(const char *kind, double x, double y, const std::string &text, const char *anchor = "start") {
    text_ += std::string{"  <text class=\""} + kind + "\" text-anchor=\"" + anchor + '"' +
             format(" x=\"%.1f\" y=\"%.1f\">", x, y) + escaped(text) + "</text>\n";
  }
  void line(const char *kind, double x1, double y1, double x2, double y2) {
    text_ += std::string{"  <line class=\""} + kind + '"' +
             format(" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
  }

  void axis() {
    const double step = step_for(seconds_);
    // Whole days are those of this time zone.
    const auto zone_time = static_cast<std::time_t>(begin_);
    struct tm local {};
    localtime_r(&zone_time, &local);
    const double shift = step >= 3600 ? static_cast<double>(local.tm_gmtoff) : 0;
    std::string last_day;
    for (double mark = std::ceil((begin_ + shift) / step) * step - shift; mark <= begin_ + seconds_; mark += step) {
      line("grid", x(mark), top - 4, x(mark), bottom_);
      const std::string day = clock_text(mark, true, false).substr(0, 10);
      const std::string text = step >= 86400 ? day : clock_text(mark, false, step < 1);
      label("soft", x(mark), top - 10, text, "middle");
      if (step < 86400 && step >= 1800 && day != last_day && !last_day.empty())
        label("soft", x(mark), bottom_ + 14, day, "middle");
      last_day = day;
    }
    line("line", left, bottom_, left + width, bottom_);
  }

  void row(const Row &row, double y) {
    if (row.first) {
      line("grid", 16, y - name_height + 4, left + width, y - name_height + 4);
      label("name", 16, y - 8, cut(row.name, 60));
    }
    label("soft", 28, y + 17, cut(row.label, 32));
    for (const std::size_t i : row.terms)
      term(timeline_.terms[i], y);
    for (const std::size_t i : row.refusals)
      refusal(timeline_.refusals[i], y);
  }

  void term(const Term &term, double y) {
    const double from = x(term.begin), length = std::max(x(term.end) - from, 3.0);
    text_ += std::string{"  <g><title>"} + escaped(term.name) + "\n" + escaped(term.owner) + "\ntoken " + term.token +
             "\n" + clock_text(term.begin, true, true) + (term.takeover ? ", took over what had lapsed" : ", granted") +
             "\n" + clock_text(term.end, true, true) + ", " + end_text(term) +
             (term.known_end ? "" : " at the latest") + "</title>\n";
    text_ += std::string{"  <rect rx=\"2\" class=\""} + (term.takeover ? "takeover" : "term") +
             (term.known_end ? "" : " open") + '"' +
             format(" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", from, y + 5, length, row_height - 10);
    if (term.how == Term::End::broken || term.how == Term::End::lapsed)
      line(end_text(term), from + length, y + 3, from + length, y + row_height - 3);
    if (length > 7 * static_cast<double>(term.token.size()) + 8)
      label("inside", from + 5, y + 17, term.token);
    text_ += "  </g>\n";
  }

  void refusal(const Refusal &refusal, double y) {
    const double at = x(refusal.at), middle = y + row_height / 2;
    text_ += "  <g><title>write refused: " + escaped(refusal.reason) +
             (refusal.relation.empty() ? "" : "\ntable " + escaped(refusal.relation)) + "\n" + escaped(refusal.owner) +
             (refusal.token.empty() ? "" : "\ntoken " + refusal.token) + "\n" + clock_text(refusal.at, true, true) +
             "</title>";
    text_ += format("<rect opacity=\"0\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\"/>", at - 7, middle - 7);
    text_ += "<path class=\"refusal\"" + format(" d=\"M%.1f %.1f l10 10", at - 5, middle - 5) +
             format(" M%.1f %.1f l10 -10\"/></g>\n", at - 5, middle + 5);
  }

  void legend() {
    const double y = bottom_ + 40;
    double at = 16;
    const auto next = [&](const char *text) {
      label("soft", at + 24, y + 4, text);
      at += 44 + 6.6 * static_cast<double>(std::string_view{text}.size());
    };
    const auto box = [&](const char *kind) {
      text_ += std::string{"  <rect rx=\"2\" class=\""} + kind + '"' +
               format(" x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"12\"/>\n", at, y - 6);
    };
    box("term");
    next("held");
    box("term open");
    next("released by then");
    box("takeover");
    next("took over a lapsed lease");
    line("lapsed", at + 9, y - 7, at + 9, y + 7);
    next("lapsed by then");
    line("broken", at + 9, y - 7, at + 9, y + 7);
    next("broken");
    text_ += "  <path class=\"refusal\"" + format(" d=\"M%.1f %.1f l10 10", at + 4, y - 5) +
             format(" M%.1f %.1f l10 -10\"/>\n", at + 4, y + 5);
    next("write refused");
  }

  const Timeline &timeline_;
  const std::vector<Row> rows_;
  std::vector<double> at_;
  double begin_ = 0, scale_ = 1, seconds_ = 1, bottom_ = 0;
  std::string text_;
};

} // namespace

std::string clock_text(double moment, bool with_date, bool with_milliseconds) {
  // Rounded first, so that no second has 1000 milliseconds.
  const auto milliseconds = static_cast<long long>(std::floor(moment * 1000 + 0.5));
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  struct tm local {};
  localtime_r(&seconds, &local);
  char text[64], more[16] = "";
  std::strftime(text, sizeof text, with_date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &local);
  if (with_milliseconds)
    std::snprintf(more, sizeof more, ".%03d", static_cast<int>(milliseconds % 1000));
  return std::string{text} + more;
}

std::string svg(const Timeline &timeline) { return Drawing{timeline}.draw(); }

std::string html(const Timeline &timeline) {
  std::string text = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatepost: who held what</title>
<style>
  body { margin: 24px auto; max-width: 1180px; padding: 0 16px; font: 14px system-ui, "DejaVu Sans", sans-serif; color: #24292f; }
  svg { max-width: 100%; height: auto; }
  table { border-collapse: collapse; margin-top: 24px; width: 100%; }
  th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid #d8dee4; font-variant-numeric: tabular-nums; }
  th { color: #656d76; font-weight: 600; }
  .refused { color: #cf222e; }
</style>
</head>
<body>
)";
  text += svg(timeline);
  struct Line {
    double at;
    std::string cells;
  };
  std::vector<Line> lines;
  const auto cell = [](const std::string &value) { return "<td>" + escaped(value) + "</td>"; };
  for (const Term &term : timeline.terms)
    lines.push_back(
        {term.begin,
         "<tr>" + cell(clock_text(term.begin, true, true)) + cell(term.takeover ? "took over" : "granted") +
             cell(term.name) + cell(term.token) + cell(term.owner) +
             cell((term.how == Term::End::held ? std::string{"held"}
                                               : std::string{end_text(term)} + (term.known_end ? " " : " by ") +
                                                     clock_text(term.end, false, true))) +
             "</tr>\n"});
  for (const Refusal &refusal : timeline.refusals)
    lines.push_back(
        {refusal.at, "<tr class=\"refused\">" + cell(clock_text(refusal.at, true, true)) + cell("write refused") +
                         cell(refusal.name) + cell(refusal.token) + cell(refusal.owner) +
                         cell(refusal.relation + (refusal.relation.empty() ? "" : ": ") + refusal.reason) + "</tr>\n"});
  std::stable_sort(lines.begin(), lines.end(), [](const Line &a, const Line &b) { return a.at < b.at; });
  text +=
      "<table>\n<thead><tr><th>At</th><th>What</th><th>Name</th><th>Token</th><th>Who</th><th>More</th></tr></thead>\n"
      "<tbody>\n";
  for (const Line &line : lines)
    text += line.cells;
  return text + "</tbody>\n</table>\n</body>\n</html>\n";
}

} // namespace gatepost::cli
