// gatepost init: the extension, and rights for those who use it.
#include "command.hpp"
#include "json.hpp"

namespace gatepost::cli {

namespace {

struct InitOptions {
  std::vector<std::string> users{}, administrators{};
  bool show = false;
};

/// A role for the server to read, as regrole, in a literal that means the same with and without
/// standard_conforming_strings.
std::string role_literal(const std::string &name) {
  std::string quoted = "'\"";
  bool escaped = false;
  for (const char c : name) {
    escaped = escaped || c == '\\';
    quoted += c == '"' || c == '\'' || c == '\\' ? std::string(2, c) : std::string{c};
  }
  return (escaped ? "E" : "") + quoted + "\"'";
}

std::vector<std::string> statements(const InitOptions &options) {
  std::vector<std::string> result{"CREATE EXTENSION IF NOT EXISTS gatepost", "ALTER EXTENSION gatepost UPDATE"};
  for (const std::string &role : options.users)
    result.push_back("SELECT gatepost.grant_user(" + role_literal(role) + ")");
  for (const std::string &role : options.administrators)
    result.push_back("SELECT gatepost.grant_administrator(" + role_literal(role) + ")");
  return result;
}

int init(const Invocation &invocation, const InitOptions &options) {
  if (options.show) {
    for (const std::string &statement : statements(options))
      print(statement + ';');
    return success;
  }
  set_connection_defaults(Access::read_write);
  std::unique_ptr<Connection> connection;
  try {
    connection = open_checked(invocation.connect);
  } catch (const Failure &failure) {
    // Without the extension is what it is here for.
    if (failure.status() != set_up)
      throw;
    connection = open(invocation.connect);
  }
  // Others may have locks on what is granted.
  if (invocation.timeout.empty())
    set_patience(*connection, std::chrono::nanoseconds{0});
  connection->execute("BEGIN", {});
  for (const std::string &statement : statements(options))
    connection->execute(statement, {});
  connection->execute("COMMIT", {});
  check_extension(*connection);
  const std::string database = connection->execute("SELECT current_database()", {}).first().value_or("");
  if (invocation.json)
    print(JsonObject{}.text("database", database).text("version", GATEPOST_VERSION).str());
  else
    print("database \"" + database + "\" has the extension gatepost " GATEPOST_VERSION);
  return success;
}

} // namespace

void add_init(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "init", "Create or update the extension, and grant its use",
      "Its files have to be on the server, and the role has to be a superuser. May be run again; nothing is granted to "
      "PUBLIC, and nothing is taken away.");
  auto options = std::make_shared<InitOptions>();
  const auto roles = [&](const char *name, std::vector<std::string> &into, const char *text) {
    command.add_option(name, into, text)
        ->type_name("ROLE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  roles("--user", options->users, "Role that may take leases and write with tokens; may be given again");
  roles("--admin", options->administrators,
        "Role that may break and purge leases, and see to tokens; may be given again");
  command.add_flag("--show", options->show, "Only print the statements");
  command.callback(
      [&invocation, options] { invocation.action = [&invocation, options] { return init(invocation, *options); }; });
}

} // namespace gatepost::cli
