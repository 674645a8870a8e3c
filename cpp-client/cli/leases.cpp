// gatepost ls and status: who holds what.
#include "command.hpp"
#include "duration.hpp"
#include "mutant.hpp"
#include "rows.hpp"
#include "waiting.hpp"

#include <gatepost/error.hpp>

#include <cstdio>

#include <poll.h>
#include <time.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

struct LsOptions {
  std::string prefix{}, interval = "1s";
  bool all = false, watch = false, names = false;
};

const std::vector<Column> columns{
    {"name"},
    {"slot", Kind::number},
    {"kind"},
    {"state"},
    {"token", Kind::token},
    {"owner"},
    {"role"},
    {"client_addr"},
    {"pid", Kind::number},
    {"acquired_at"},
    {"renewed_at"},
    {"expires_at"},
    {"remaining_seconds", Kind::seconds},
    {"ttl_seconds", Kind::seconds},
    {"metadata", Kind::json},
    {"yield_requested", Kind::boolean},
    {"yield_reason"},
    {"authoritative", Kind::boolean},
};

std::string select(bool json) {
  return "SELECT name, slot, kind, state, token, owner, role, client_addr, pid, " + moment(json, "acquired_at") + ", " +
         moment(json, "renewed_at") + ", " + moment(json, "expires_at") +
         ", extract(epoch FROM remaining), extract(epoch FROM ttl), metadata, yield_requested, yield_reason,"
         " authoritative FROM gatepost.leases";
}

Rows ask(const Invocation &invocation, Connection &connection, const LsOptions &options) {
  return connection.execute(select(invocation.json) +
                                " WHERE starts_with(name, $1) AND ($2::boolean OR state NOT IN ('released', 'broken',"
                                " 'superseded')) ORDER BY name COLLATE \"C\", slot",
                            std::vector<Value>{options.prefix, options.all ? "t" : "f"});
}

std::vector<std::string> table(const Rows &rows, std::size_t width) {
  Table table{{"NAME", "STATE", "LEFT", "TTL", "TOKEN", "ROLE", "OWNER"}};
  for (const auto &row : rows.rows) {
    const std::string state = row[3].value_or("") + (row[15] == "t" ? ", asked for" : "");
    table.add({{row[0].value_or("") + (row[2] == "permit" ? " #" + row[1].value_or("") : ""), Colour::bold},
               {state, state_colour(row[3].value_or(""))},
               {seconds_text(row[12])},
               {seconds_text(row[13])},
               {row[4].value_or("")},
               {row[6].value_or("")},
               {row[5].value_or("")}});
  }
  return table.lines(width);
}

/// Draws over what was there, so that nothing flickers.
void draw(const Rows &rows, const LsOptions &options) {
  char clock[32];
  const time_t now = time(nullptr);
  struct tm local {};
  strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
  std::string screen = "\x1b[H" +
                       coloured(Colour::dim, std::string{clock} + ", every " + options.interval + ", " +
                                                 std::to_string(rows.rows.size()) + " leases; Ctrl-C ends this") +
                       "\x1b[K\n\x1b[K\n";
  for (const std::string &line : table(rows, terminal_width()))
    screen += line + "\x1b[K\n";
  screen += "\x1b[J";
  std::fwrite(screen.data(), 1, screen.size(), stdout);
  std::fflush(stdout);
}

int watch(const Invocation &invocation, const LsOptions &options, std::unique_ptr<Connection> connection) {
  const bool screen = !invocation.json && isatty(STDOUT_FILENO) != 0;
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(duration(options.interval));
  auto &signals = for_good<Signals>();
  auto &watcher = for_good<Watcher>(signals);
  if (screen)
    std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  const auto clear = [&](int status) {
    if (screen)
      std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
    return status;
  };
  const auto status_of = [](int signal) { return signal == SIGINT ? static_cast<int>(success) : 128 + signal; };
  Waiting::Rules rules;
  rules.last_words = [&](int status) { leave(clear(status_of(status - 128))); };
  try {
    while (true) {
      try {
        Waiting waiting{watcher, rules};
        if (!connection)
          connection = open(invocation.connect);
        const Rows rows = ask(invocation, *connection, options);
        if (const int signal = waiting.end(); signal != 0)
          return clear(status_of(signal));
        if (invocation.json) {
          print_json(rows, columns);
          print("");
        } else if (screen) {
          draw(rows, options);
        } else {
          for (const std::string &line : table(rows, 0))
            print(line);
          print("");
        }
      } catch (const unavailable &error) {
        // The server may come back; whoever watches wants to see it.
        connection.reset();
        if (screen)
          std::fputs(("\x1b[H" + coloured(Colour::red, one_line(error.what())) + "\x1b[K").c_str(), stdout);
        else
          complain(invocation, no_server, error.what());
      }
      if (std::fflush(stdout) != 0)
        return clear(success);
      pollfd file{signals.file(), POLLIN, 0};
      poll(&file, 1, static_cast<int>(pause.count()));
      for (int signal = signals.take(); signal != 0; signal = signals.take())
        if (asks_to_end(signal))
          return clear(status_of(signal));
    }
  } catch (...) {
    clear(internal);
    throw;
  }
}

int list(const Invocation &invocation, const LsOptions &options) {
  std::unique_ptr<Connection> connection = connect(invocation, Access::read_only);
  if (options.watch)
    return watch(invocation, options, std::move(connection));
  const Rows rows = ask(invocation, *connection, options);
  if (options.names) {
    std::string last;
    for (const auto &row : rows.rows)
      if (row[0] != last)
        print(last = row[0].value_or(""));
  } else if (invocation.json) {
    print_json(rows, columns);
  } else if (rows.rows.empty()) {
    print("no leases");
  } else {
    for (const std::string &line : table(rows, terminal_width()))
      print(line);
  }
  return success;
}

struct StatusOptions {
  std::string name{}, token{};
};

/// The rows of one name, or what has become of one token.
int status(const Invocation &invocation, const StatusOptions &options) {
  std::unique_ptr<Connection> connection = connect(invocation, Access::read_only);
  if (!options.token.empty()) {
    const std::string state =
        connection
            ->execute("SELECT gatepost.lease_status($1, $2::bigint)", std::vector<Value>{options.name, options.token})
            .first()
            .value_or("unknown");
    if (invocation.json)
      print(JsonObject{}.text("name", options.name).text("token", options.token).text("state", state).str());
    else
      print(coloured(state_colour(state), state));
    return state == "held" || state == "recovering" ? success : state == "in_flight" ? busy : lost;
  }
  const Rows rows =
      connection->execute(select(invocation.json) + " WHERE name = $1 ORDER BY slot", std::vector<Value>{options.name});
  bool held = false;
  for (const auto &row : rows.rows)
    held = held || row[3] == "held" || row[3] == "recovering" || row[3] == "in_flight";
  if (invocation.json) {
    print_json(rows, columns);
  } else if (rows.rows.empty()) {
    print("free: no lease of this name is known");
  } else {
    for (const auto &row : rows.rows) {
      for (std::size_t i = 0; i < columns.size(); ++i)
        if (row[i] && i != 17) {
          const bool length = columns[i].kind == Kind::seconds;
          std::string key = columns[i].name;
          if (length)
            key.erase(key.rfind("_seconds"));
          const std::string value = length ? seconds_text(row[i]) : printable(*row[i]);
          std::printf("%-16s %s\n", key.c_str(), coloured(i == 3 ? state_colour(value) : Colour::none, value).c_str());
        }
      if (row[17] == "f")
        print("this is a standby, where the state may be old");
    }
  }
  return held ? success : no;
}

} // namespace

void add_ls(CLI::App &root, Invocation &invocation) {
  CLI::App &command =
      add_command(root, "ls", "List leases and permits",
                  "Shows what is held, recovering, in flight or lapsed. On a standby the state may be old.");
  auto options = std::make_shared<LsOptions>();
  command.add_option("PREFIX", options->prefix, "Only names that begin so")->type_name("");
  command.add_flag("--all", options->all, "Those that were released, broken or superseded too");
  command.add_flag("--watch", options->watch, "Show it again and again, until Ctrl-C");
  add_duration(command, "--interval", options->interval, "How often, with --watch, from 100ms to 1d; 1s when not given")
      ->needs("--watch")
      ->check([](const std::string &given) -> std::string {
        const auto length = parse_duration(given);
        const bool fits = length && *length >= std::chrono::milliseconds{100} && *length <= std::chrono::hours{24};
        return fits || mutant("asks_without_pause") ? "" : "an interval is from 100ms to 1d, not " + given;
      });
  command.add_flag("--names", options->names, "Only the names")->excludes("--watch");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return list(invocation, *options); }; });
}

void add_status(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "status", "Show one lease, or what has become of a token",
      "Of a name: everything that is known; the status is 1 when nobody holds it. Of a token: held, recovering, "
      "in_flight, lapsed, released, broken, superseded or unknown; the status is 76 when it holds nothing any more, "
      "and 75 when a transaction that is still open is changing it.");
  auto options = std::make_shared<StatusOptions>();
  add_name(command, options->name);
  add_token(command, options->token)->required(false);
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return status(invocation, *options); }; });
}

} // namespace gatepost::cli
