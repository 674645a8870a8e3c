// gatepost waiters and history.
#include "command.hpp"
#include "duration.hpp"
#include "mutant.hpp"
#include "rows.hpp"

namespace gatepost::cli {

namespace {

struct Options {
  std::string name{}, since{};
  int limit = 0;
};

int waiters(const Invocation &invocation, const Options &options) {
  const Rows rows = connect(invocation, Access::read_only)
                        ->execute("SELECT name, place, pid, " + moment(invocation.json, "since") +
                                      ", extract(epoch FROM clock_timestamp() - since),"
                                      " application_name FROM gatepost.waiters WHERE $1::text IS NULL OR name = $1"
                                      " ORDER BY name COLLATE \"C\", place",
                                  std::vector<Value>{options.name.empty() ? Value{} : options.name});
  if (invocation.json) {
    print_json(rows, {{"name"},
                      {"place", Kind::number},
                      {"pid", Kind::number},
                      {"since"},
                      {"waiting_seconds", Kind::seconds},
                      {"application_name"}});
    return success;
  }
  Table table{{"NAME", "PLACE", "WAITING", "PID", "WHO"}};
  for (const auto &row : rows.rows)
    table.add({{row[0].value_or("(not to be seen)"), Colour::bold},
               {row[1].value_or("")},
               {seconds_text(row[4])},
               {row[2].value_or("outside")},
               {row[5].value_or("")}});
  if (table.empty())
    print("nobody waits");
  else
    table.print();
  return success;
}

Colour event_colour(const std::string &event) {
  return event == "grant" ? Colour::green : event == "takeover" ? Colour::yellow : Colour::red;
}

int history(const Invocation &invocation, const Options &options) {
  std::unique_ptr<Connection> connection = connect(invocation, Access::read_only);
  const Rows rows = connection->execute(
      "SELECT " + moment(invocation.json, "at") +
          ", event, name, token, prior_token, role, owner, client_addr, pid, relation, detail FROM (SELECT *"
          " FROM gatepost.history WHERE ($1::text IS NULL OR name = $1) AND ($2::interval IS NULL OR at >="
          " clock_timestamp() - $2::interval) ORDER BY at DESC, token DESC LIMIT $3::int) AS newest ORDER BY at, token",
      std::vector<Value>{options.name.empty() ? Value{} : options.name,
                         options.since.empty() ? Value{} : interval(duration(options.since)),
                         options.limit == 0 ? Value{} : std::to_string(options.limit)});
  if (rows.rows.empty() && connection->execute("SELECT gatepost.library_version()", {}).first() &&
      connection->execute("SELECT current_setting('gatepost.history_retention', true)", {}).first().value_or("0") ==
          "0" &&
      !mutant("no_history_is_empty"))
    throw Failure{no, "no history is kept; a superuser sets gatepost.history_retention, such as ALTER DATABASE .. "
                      "SET gatepost.history_retention = '30d'"};
  if (invocation.json) {
    print_json(rows, {{"at"},
                      {"event"},
                      {"name"},
                      {"token", Kind::token},
                      {"prior_token", Kind::token},
                      {"role"},
                      {"owner"},
                      {"client_addr"},
                      {"pid", Kind::number},
                      {"relation"},
                      {"detail"}});
    return success;
  }
  Table table{{"AT", "EVENT", "NAME", "TOKEN", "BEFORE", "WHO", "DETAIL"}};
  for (const auto &row : rows.rows) {
    const std::string event = row[1].value_or("");
    table.add({{row[0].value_or("")},
               {event, event_colour(event)},
               {row[2].value_or(""), Colour::bold},
               {row[3].value_or("")},
               {row[4].value_or("")},
               {row[6].value_or(row[5].value_or(""))},
               {(row[9] ? "table " + *row[9] + (row[10] ? ": " : "") : "") + row[10].value_or("")}});
  }
  if (table.empty())
    print("the history has nothing of it");
  else
    table.print();
  return success;
}

} // namespace

void add_waiters(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "waiters", "List who waits for leases",
                                  "In the order in which they are served, inside the server and outside it.");
  auto options = std::make_shared<Options>();
  add_name(command, options->name, false);
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return waiters(invocation, *options); }; });
}

void add_history(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "history", "List grants, takeovers, breaks and refused writes",
                                  "In time order. It is kept while gatepost.history_retention is not 0.");
  auto options = std::make_shared<Options>();
  add_name(command, options->name, false);
  add_duration(command, "--since", options->since, "Only what is not older than that");
  add_number(command, "--limit", options->limit, 1, 999999999, "Only so many, the newest");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return history(invocation, *options); }; });
}

} // namespace gatepost::cli
