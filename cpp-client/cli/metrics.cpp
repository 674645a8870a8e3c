// gatepost metrics: what Prometheus reads, and the file by which postgres_exporter reads the same.
#include "command.hpp"
#include "http.hpp"
#include "json.hpp"
#include "waiting.hpp"

#include <gatepost/error.hpp>

#include <cstdio>

namespace gatepost::cli {

namespace {

struct Metric {
  const char *column;
  bool counter;
  const char *help;
};

constexpr Metric metrics[] = {
    {"leases_held", false, "Leases that are live"},
    {"permits_held", false, "Permits of semaphores that are live, each grant by its weight"},
    {"leases_in_flight", false, "Leases and permits that an open transaction is changing"},
    {"leases_recovering", false, "Leases and permits of another boot or server, which count as live"},
    {"leases_lapsed", false, "Leases and permits that are past their deadline and not taken since"},
    {"waiters", false, "Sessions that wait inside the server for a lease or permits"},
    {"waiters_outside", false, "Places of those who wait outside the server for a lease"},
    {"keepers", false, "Sessions that keep names by an open transaction or an advisory lock"},
    {"oldest_keeper_seconds", false, "How long the oldest transaction of those sessions has been open; NULL for none"},
    {"next_expiry_seconds", false, "Until the next live lease lapses unless it is renewed; NULL for none"},
    {"tokens_drawn_total", true,
     "Tokens drawn since the generation was raised: grants, committed or not, breaks and token_draw"},
    {"takeovers", false, "Grants of lapsed leases that are in the history; NULL when none is kept"},
    {"breaks", false, "Breaks that are in the history; NULL when none is kept"},
    {"refused_stale_token_total", true, "Writes refused since the counters were reset: a later token has been seen"},
    {"refused_lease_not_held_total", true, "Writes refused since the counters were reset: the lease is over"},
    {"refused_token_required_total", true, "Writes refused since the counters were reset: no token was used"},
    {"refused_unknown_token_total", true,
     "Writes refused since the counters were reset: the token was never drawn here"},
    {"refused_token_of_other_lease_total", true,
     "Writes refused since the counters were reset: the token is of another name"},
    {"refused_others_total", true, "Writes refused since the counters were reset that found no counter of their own"},
    {"generation", false, "Generation of the last token"},
    {"counter_left", false, "Tokens that are left in the generation"},
};

constexpr const char *doctor_query = "SELECT severity, count(f.detail) AS findings FROM unnest(ARRAY['error', "
                                     "'warning', 'notice']) AS severity LEFT JOIN "
                                     "gatepost.doctor() AS f USING (severity) GROUP BY severity";
constexpr const char *doctor_help = "How many findings of that severity gatepost.doctor() has";

struct Figures {
  std::vector<Value> stats;
  Rows doctor;
};

Figures ask(Connection &connection) {
  std::string sql = "SELECT ";
  for (const Metric &metric : metrics)
    sql += (&metric == metrics ? "" : ", ") + std::string{metric.column};
  Figures figures;
  figures.stats = connection.execute(sql + " FROM gatepost.stats", {}).rows.at(0);
  figures.doctor = connection.execute(std::string{doctor_query} + " ORDER BY severity", {});
  return figures;
}

void add(std::string &text, const std::string &name, const char *type, const char *help) {
  text += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

/// NULL is a figure that is not there.
std::string prometheus(const Figures &figures) {
  std::string text;
  for (std::size_t i = 0; i < figures.stats.size(); ++i) {
    if (!figures.stats[i])
      continue;
    const std::string name = std::string{"gatepost_"} + metrics[i].column;
    add(text, name, metrics[i].counter ? "counter" : "gauge", metrics[i].help);
    text += name + ' ' + *figures.stats[i] + '\n';
  }
  add(text, "gatepost_doctor_findings", "gauge", doctor_help);
  for (const auto &row : figures.doctor.rows)
    text += "gatepost_doctor_findings{severity=\"" + row[0].value_or("") + "\"} " + row[1].value_or("0") + '\n';
  return text;
}

std::string with_up(bool up, const std::string &text) {
  std::string result;
  add(result, "gatepost_up", "gauge", "Whether the figures could be had from the server");
  return result + "gatepost_up " + (up ? "1" : "0") + '\n' + text;
}

std::string json(const Figures &figures) {
  JsonObject object, doctor;
  for (std::size_t i = 0; i < figures.stats.size(); ++i)
    object.written(metrics[i].column, figures.stats[i]);
  for (const auto &row : figures.doctor.rows)
    doctor.written(row[0].value_or(""), row[1]);
  return object.raw("doctor", doctor.str()).str();
}

/// docs/monitoring/queries.yaml.
std::string queries() {
  std::string text = "# For postgres_exporter: --extend.query-path=queries.yaml, or the same queries for any other "
                     "exporter. Its role is a "
                     "member of\n# pg_monitor, and its connection is to the database that has the extension. "
                     "docs/reference.md#the-view-stats has the columns.\n"
                     "gatepost:\n  query: \"SELECT * FROM gatepost.stats\"\n  master: true\n  metrics:\n";
  const auto entry = [&](const char *name, const char *type, const char *help) {
    text +=
        std::string{"    - "} + name + ":\n        usage: \"" + type + "\"\n        description: \"" + help + "\"\n";
  };
  for (const Metric &metric : metrics)
    entry(metric.column, metric.counter ? "COUNTER" : "GAUGE", metric.help);
  text += std::string{"\ngatepost_doctor:\n  query: \""} + doctor_query +
          "\"\n  master: true\n  cache_seconds: 60\n  metrics:\n";
  entry("severity", "LABEL", "error, warning or notice");
  entry("findings", "GAUGE", doctor_help);
  text.pop_back();
  return text;
}

struct MetricsOptions {
  std::string listen{};
  bool queries = false;
};

int served(const Invocation &invocation, const MetricsOptions &options) {
  // Looked at now, so that what is wrong is told now; later the server may come and go.
  std::unique_ptr<Connection> connection = connect(invocation, Access::read_only);
  ask(*connection);
  auto &signals = for_good<Signals>();
  auto &watcher = for_good<Watcher>(signals);
  const auto status_of = [](int signal) {
    return signal == SIGTERM || signal == SIGINT ? static_cast<int>(success) : 128 + signal;
  };
  Waiting::Rules rules;
  rules.last_words = [&](int status) { leave(status_of(status - 128)); };
  const int signal = serve(
      options.listen, "/metrics", signals,
      [&](int port) {
        print(invocation.json ? JsonObject{}.number("port", port).str()
                              : "serving /metrics on port " + std::to_string(port));
        std::fflush(stdout);
      },
      [&] {
        Waiting waiting{watcher, rules};
        const auto ended = [&](std::string text) {
          if (const int signal = waiting.end(); signal != 0)
            leave(status_of(signal));
          return text;
        };
        // A connection that was lost meanwhile is noticed by the first question.
        for (int tries = 0; tries < 2; ++tries)
          try {
            if (!connection)
              connection = open(invocation.connect);
            return ended(with_up(true, prometheus(ask(*connection))));
          } catch (const std::exception &error) {
            connection.reset();
            if (tries == 1)
              complain(invocation, no_server, error.what());
          }
        return ended(with_up(false, ""));
      });
  return status_of(signal);
}

int measure(const Invocation &invocation, const MetricsOptions &options) {
  if (options.queries) {
    print(queries());
    return success;
  }
  if (!options.listen.empty())
    return served(invocation, options);
  const Figures figures = ask(*connect(invocation, Access::read_only));
  if (invocation.json) {
    print(json(figures));
  } else {
    const std::string text = prometheus(figures);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return success;
}

} // namespace

void add_metrics(CLI::App &root, Invocation &invocation) {
  CLI::App &command =
      add_command(root, "metrics", "Print figures for Prometheus, or serve them",
                  "For administrators and members of pg_monitor: the view gatepost.stats and the number of findings of "
                  "gatepost.doctor(), once, for a textfile collector; or over HTTP at /metrics with --listen, until a "
                  "signal comes, "
                  "with gatepost_up 0 while the server is away.");
  auto options = std::make_shared<MetricsOptions>();
  command
      .add_option("--listen", options->listen,
                  "Serve them at this port, of localhost or of a host that is named; 0 is any")
      ->type_name("[HOST:]PORT");
  command
      .add_flag("--queries", options->queries, "Print queries.yaml, by which postgres_exporter has the same figures")
      ->excludes("--listen");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return measure(invocation, *options); }; });
}

} // namespace gatepost::cli
