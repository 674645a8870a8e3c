// gatepost timeline: out of the history, a picture.
#include "timeline.hpp"

#include "command.hpp"
#include "duration.hpp"
#include "json.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace gatepost::cli {

namespace {

struct TimelineOptions {
  std::string name{}, since{}, svg{}, html{};
};

double number(const Value &value) { return value ? std::strtod(value->c_str(), nullptr) : 0; }

Timeline read(Connection &connection, const TimelineOptions &options) {
  const Value name = options.name.empty() ? Value{} : options.name;
  const Value since = options.since.empty() ? Value{} : interval(duration(options.since));
  const Rows events = connection.execute(
      "SELECT extract(epoch FROM at), event, name, token, prior_token, coalesce(owner, role::text), relation, detail"
      " FROM gatepost.history WHERE ($1::text IS NULL OR name = $1 OR name IS NULL) AND ($2::interval IS NULL OR at >="
      " clock_timestamp() - $2::interval) ORDER BY at, token",
      std::vector<Value>{name, since});
  const Rows now = connection.execute("SELECT token, state, extract(epoch FROM expires_at), extract(epoch FROM"
                                      " renewed_at), extract(epoch FROM clock_timestamp()) FROM gatepost.leases",
                                      {});
  Timeline timeline;
  std::map<std::string, std::size_t> by_token;
  for (const auto &row : events.rows) {
    const std::string event = row[1].value_or(""), token = row[3].value_or("");
    const double at = number(row[0]);
    if (event == "refusal") {
      timeline.refusals.push_back(
          {row[2].value_or(""), row[5].value_or(""), token, row[6].value_or(""), row[7].value_or(""), at, -1});
      continue;
    }
    // Who follows says how the one before has ended.
    if (const auto before = by_token.find(row[4].value_or("")); before != by_token.end()) {
      Term &term = timeline.terms[before->second];
      term.end = at;
      term.known_end = event == "break";
      term.how = event == "break" ? Term::End::broken : event == "takeover" ? Term::End::lapsed : Term::End::released;
      by_token.erase(before);
    }
    if (event == "break")
      continue;
    by_token[token] = timeline.terms.size();
    timeline.terms.push_back(
        {row[2].value_or(""), row[5].value_or(""), token, at, at, Term::End::released, event == "takeover", false});
  }
  // Without a follower the view leases knows more.
  double last = 0;
  for (const auto &row : now.rows) {
    const auto found = by_token.find(row[0].value_or(""));
    if (found == by_token.end())
      continue;
    Term &term = timeline.terms[found->second];
    const std::string state = row[1].value_or("");
    const bool live = state == "held" || state == "recovering" || state == "in_flight";
    term.how = live                                         ? Term::End::held
               : state == "lapsed" || state == "superseded" ? Term::End::lapsed
                                                            : Term::End::released;
    term.end = live ? number(row[4]) : term.how == Term::End::lapsed ? number(row[2]) : number(row[3]);
    term.known_end = term.how != Term::End::released;
  }
  for (Refusal &refusal : timeline.refusals)
    for (std::size_t i = 0; i < timeline.terms.size(); ++i)
      if (!refusal.token.empty() && timeline.terms[i].token == refusal.token)
        refusal.term = static_cast<int>(i);
  if (!options.name.empty())
    std::erase_if(timeline.refusals,
                  [&](const Refusal &refusal) { return refusal.name != options.name && refusal.term < 0; });
  timeline.begin = 1e18;
  for (const Term &term : timeline.terms) {
    timeline.begin = std::min(timeline.begin, term.begin);
    last = std::max(last, term.end);
  }
  for (const Refusal &refusal : timeline.refusals) {
    timeline.begin = std::min(timeline.begin, refusal.at);
    last = std::max(last, refusal.at);
  }
  timeline.end = std::max(last, timeline.begin + 0.001);
  return timeline;
}

void write_file(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    throw Failure{usage, "cannot write " + path + ": " + std::strerror(errno)};
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written)
    throw Failure{internal, "cannot write " + path + ": " + std::strerror(written ? errno : error)};
}

void print_json(const Timeline &timeline) {
  static constexpr const char *ends[] = {"released", "lapsed", "broken", "held"};
  for (const Term &term : timeline.terms)
    print(JsonObject{}
              .text("kind", "term")
              .text("name", term.name)
              .text("owner", term.owner)
              .text("token", term.token)
              .seconds("begin", term.begin)
              .seconds("end", term.end)
              .text("how", ends[static_cast<int>(term.how)])
              .boolean("takeover", term.takeover)
              .str());
  for (const Refusal &refusal : timeline.refusals)
    print(JsonObject{}
              .text("kind", "refusal")
              .text("name", refusal.name)
              .text("owner", refusal.owner)
              .value("token", refusal.token.empty() ? Value{} : Value{refusal.token})
              .text("relation", refusal.relation)
              .text("reason", refusal.reason)
              .seconds("at", refusal.at)
              .str());
}

int draw(const Invocation &invocation, const TimelineOptions &options) {
  if (options.svg.empty() && options.html.empty() && !invocation.json)
    throw Failure{usage, "--svg or --html is missing; see gatepost timeline --help"};
  const Timeline timeline = read(*connect(invocation, Access::read_only), options);
  if (timeline.terms.empty() && timeline.refusals.empty())
    throw Failure{no, "there is no history to draw; it is kept while gatepost.history_retention is not 0"};
  if (!options.svg.empty())
    write_file(options.svg, svg(timeline));
  if (!options.html.empty())
    write_file(options.html, html(timeline));
  if (options.svg.empty() && options.html.empty())
    print_json(timeline);
  return success;
}

} // namespace

void add_timeline(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "timeline", "Draw who held what when, and which writes were refused",
      "Out of gatepost.history, which is kept while gatepost.history_retention is not 0. A release leaves no row "
      "there, so "
      "a bar of a lease that was given back ends at the latest where the next one begins. With --json and no file, the "
      "same as lines.");
  auto options = std::make_shared<TimelineOptions>();
  add_name(command, options->name, false);
  add_duration(command, "--since", options->since, "Only what is not older than that");
  command.add_option("--svg", options->svg, "Write a picture there; - is standard output")->type_name("FILE");
  command.add_option("--html", options->html, "Write a page there, with the picture and a table of it")
      ->type_name("FILE");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return draw(invocation, *options); }; });
}

} // namespace gatepost::cli
