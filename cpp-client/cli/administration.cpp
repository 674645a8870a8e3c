// gatepost break, request-yield, purge, protect: one call of the server each.
#include "command.hpp"
#include "duration.hpp"
#include "mutant.hpp"
#include "rows.hpp"
#include "terminal.hpp"

#include <gatepost/error.hpp>

namespace gatepost::cli {

namespace {

struct NameOptions {
  std::string name{}, token{}, reason{};
};

struct PurgeOptions {
  std::string older_than{}, prefix{};
};

struct ProtectOptions {
  std::string table{}, lease{}, column{}, issuer = "gatepost";
  std::vector<std::string> exempt{};
  bool remove = false;
};

/// A text array in the server's form.
std::string array(const std::vector<std::string> &values) {
  std::string text = "{";
  for (const std::string &value : values) {
    text += text.size() > 1 ? ",\"" : "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\')
        text += '\\';
      text += c;
    }
    text += '"';
  }
  return text + '}';
}

int break_lease(const Invocation &invocation, const NameOptions &options) {
  const Value token = ask(*connect(invocation, Access::read_write), invocation.connect,
                          "SELECT gatepost.lease_break($1, $2::bigint, $3)",
                          std::vector<Value>{options.name, options.token.empty() ? Value{} : options.token,
                                             options.reason.empty() ? Value{} : options.reason})
                          .first();
  if (invocation.json)
    print(JsonObject{}.text("name", options.name).boolean("broken", token.has_value()).value("token", token).str());
  else if (token)
    print("broken; a fenced write with token " + *token + " shuts the holder out of a row");
  else
    print("nobody holds it");
  return token ? success : no;
}

int request_yield(const Invocation &invocation, const NameOptions &options) {
  const bool asked =
      ask(*connect(invocation, Access::read_write), invocation.connect, "SELECT gatepost.lease_request_yield($1, $2)",
          std::vector<Value>{options.name, options.reason.empty() ? Value{} : options.reason})
          .first() == "t";
  if (invocation.json)
    print(JsonObject{}.text("name", options.name).boolean("asked", asked).str());
  else
    print(asked ? "asked; the holder hears of it when it next renews" : "nobody holds it");
  return asked ? success : no;
}

int purge(const Invocation &invocation, const PurgeOptions &options) {
  std::unique_ptr<Connection> connection = connect_for_long(invocation, Access::read_write);
  const Progress progress{"purging"};
  const Value count = connection
                          ->execute("SELECT gatepost.lease_purge($1::interval, $2)",
                                    std::vector<Value>{interval(duration(options.older_than)), options.prefix})
                          .first();
  if (invocation.json)
    print(JsonObject{}.written("purged", count).str());
  else
    print(count.value_or("0") + " leases purged");
  return success;
}

int list_protected(const Invocation &invocation) {
  const Rows rows = connect(invocation, Access::read_only)
                        ->execute("SELECT relation, mode, lease, fence_column, issuer, to_jsonb(exempt), guarded,"
                                  " to_jsonb(gaps), array_to_string(gaps, '; ') FROM gatepost.fenced_tables ORDER BY 1",
                                  {});
  if (invocation.json) {
    print_json(rows, {{"table"},
                      {"mode"},
                      {"lease"},
                      {"column"},
                      {"issuer"},
                      {"exempt", Kind::json},
                      {"guarded", Kind::boolean},
                      {"gaps", Kind::json}});
    return success;
  }
  Table table{{"TABLE", "MODE", "LEASE", "COLUMN", "GUARDED"}};
  for (const auto &row : rows.rows)
    table.add({{row[0].value_or(""), Colour::bold},
               {row[1].value_or("")},
               {row[2].value_or("")},
               {row[3].value_or("")},
               {row[6] == "t" ? "yes" : "no: " + row[8].value_or(""), row[6] == "t" ? Colour::green : Colour::red}});
  if (table.empty())
    print("no table is protected");
  else
    table.print();
  return success;
}

/// The number of a table; one that is not there is a wrong argument, in whichever schema it was looked for.
Value table(Connection &connection, const std::string &name) {
  try {
    return connection.execute("SELECT $1::regclass::oid", std::vector<Value>{name}).first();
  } catch (const gatepost::error &error) {
    if (std::string_view{error.sqlstate()} == "42P01")
      throw Failure{usage, error.what()};
    throw;
  }
}

int protect(const Invocation &invocation, const ProtectOptions &options) {
  if (options.table.empty())
    return list_protected(invocation);
  if (!options.remove && options.lease.empty() && options.column.empty())
    throw Failure{usage, "--lease or --column is missing; see gatepost protect --help"};
  std::unique_ptr<Connection> connection = connect_for_long(invocation, Access::read_write);
  // Waits for open writers.
  const Progress progress{"waiting for writers of " + printable(options.table)};
  const Value number = table(*connection, options.table);
  if (options.remove)
    connection->execute("SELECT gatepost.fence_unprotect($1::regclass)", std::vector<Value>{number});
  else
    connection->execute("SELECT gatepost.fence_protect($1::regclass, $2, $3::name, $4, $5::regrole[])",
                        std::vector<Value>{number, options.lease.empty() ? Value{} : options.lease,
                                           options.column.empty() ? Value{} : options.column, options.issuer,
                                           array(options.exempt)});
  if (invocation.json)
    print(JsonObject{}.text("table", options.table).boolean("protected", !options.remove).str());
  else
    print(options.table + (options.remove ? " is no longer protected" : " is protected"));
  return success;
}

} // namespace

void add_break(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "break", "Take a lease away from its holder",
      "For administrators. The name is free at once, the holder hears of it when it next renews, and gatepost run "
      "kills "
      "its command then. Of a semaphore without a token, every permit. The status is 1 when nobody holds it. To ask "
      "the holder instead, there is request-yield.");
  auto options = std::make_shared<NameOptions>();
  add_name(command, options->name);
  check_token(command.add_option("--token", options->token, "Only if this is its token"))->type_name("TOKEN");
  command.add_option("--reason", options->reason, "For the server's log and the history")->type_name("TEXT");
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] { return break_lease(invocation, *options); };
  });
}

void add_request_yield(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "request-yield", "Ask the holder of a lease to give it up",
      "The holder hears of it when it next renews, and may go on all the same: gatepost run sends the signal "
      "of --on-yield, gatepost hold says yield. The status is 1 when nobody holds it.");
  auto options = std::make_shared<NameOptions>();
  add_name(command, options->name);
  command.add_option("--reason", options->reason, "For the holder, up to 63 bytes")->type_name("TEXT");
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] { return request_yield(invocation, *options); };
  });
}

void add_purge(CLI::App &root, Invocation &invocation) {
  CLI::App &command =
      add_command(root, "purge", "Delete what is left of leases that are over",
                  "For administrators. Rows of leases that were released, broken or lapsed so long ago; "
                  "tokens go on rising. Rows of the history go with it.");
  auto options = std::make_shared<PurgeOptions>();
  add_duration(command, "--older-than", options->older_than, "Over for so long, such as 7d")->required();
  command.add_option("--prefix", options->prefix, "Only names that begin so")->type_name("PREFIX");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return purge(invocation, *options); }; });
}

void add_protect(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "protect", "Let writes into a table under a token only",
      "For the owner of the table; waits for open writers. Without a table: those that are protected. "
      "With --lease a write needs a use of that lease in its transaction (fence_use); a name such as "
      "'order:{id}' binds each row to a lease of its own. With --column the token is kept in that bigint column.");
  auto options = std::make_shared<ProtectOptions>();
  CLI::Option *table = command.add_option("TABLE", options->table, "The table, with its schema if need be");
  table->type_name("")->check([](const std::string &text) { return text.empty() ? "a table has a name" : ""; });
  command.add_option("--lease", options->lease, "Name of the lease, or a template of it")->type_name("NAME");
  command.add_option("--column", options->column, "Column that keeps the token of each row")->type_name("COLUMN");
  command.add_option("--issuer", options->issuer, "any: tokens of another lease system, with --column")
      ->type_name("ISSUER")
      ->check([](const std::string &text) {
        return text == "gatepost" || text == "any" ? std::string{} : "\"" + text + "\" is none of gatepost, any";
      });
  command.add_option("--exempt", options->exempt, "Role whose members write without a token; may be given again")
      ->type_name("ROLE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--remove", options->remove, "End the protection")
      ->excludes("--lease")
      ->excludes("--column")
      ->excludes("--issuer")
      ->excludes("--exempt");
  // Without a table there is nothing to protect, and the list is not what was asked for.
  if (!mutant("protects_nothing"))
    for (const char *option : {"--lease", "--column", "--issuer", "--exempt", "--remove"})
      command.get_option(option)->needs(table);
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return protect(invocation, *options); }; });
}

} // namespace gatepost::cli
