#include "app.hpp"

#include "duration.hpp"
#include "mutant.hpp"

#include <cstdio>

namespace gatepost::cli {

namespace {

constexpr const char *about =
    R"(Leases with fencing tokens, kept by PostgreSQL. Connections are made as by psql: PG* variables, service files, ~/.pgpass, and a connection string where a database's name may be.)";

/// CLI11's exceptions, without its words.
Failure misuse(const CLI::App &app, const CLI::ParseError &error) {
  const std::vector<CLI::App *> chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "gatepost" : "gatepost " + chosen[0]->get_name();
  const std::string see = "; see " + command + " --help";
  const std::string text = error.what();
  // What was not expected explains best what is missing.
  for (const std::string &left : app.remaining(true)) {
    if (left == "--")
      continue;
    if (left.size() > 1 && left[0] == '-')
      return {usage, "there is no option " + left + " of " + command + see};
    if (chosen.empty())
      return {usage, "there is no command \"" + left + "\"" + see};
    return {usage, "one argument too many: \"" + left + "\"" + see};
  }
  if (dynamic_cast<const CLI::RequiredError *>(&error) != nullptr)
    return {usage, (chosen.empty() ? "a command is missing" : text.substr(0, text.find(' ')) + " is missing") + see};
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) != nullptr)
    return {usage, text.substr(0, text.find(':')) + " is to be given once, with a value" + see};
  if (dynamic_cast<const CLI::ExcludesError *>(&error) != nullptr)
    return {usage,
            text.substr(0, text.find(' ')) + " does not go together with " + text.substr(text.rfind(' ') + 1) + see};
  if (dynamic_cast<const CLI::RequiresError *>(&error) != nullptr)
    return {usage, text.substr(0, text.find(' ')) + " needs " + text.substr(text.rfind(' ') + 1) + see};
  return {usage, text + see};
}

/// An empty value is more often a variable that was not set than a wish, and is not to count as no option at all. What
/// is a text for people may be empty.
void refuse_empty_values(CLI::App &app) {
  for (CLI::Option *option : app.get_options())
    if (!option->get_positional() && takes_value(*option) && option->get_type_name() != "TEXT" &&
        !mutant("empty_is_absent"))
      option->check([](const std::string &text) { return text.empty() ? "the value is empty" : ""; });
}

/// "--key=" with nothing behind it, as two arguments: CLI11 takes the next one for the value.
std::vector<const char *> with_empty_values(int count, char **arguments, std::vector<std::string> &names) {
  std::vector<const char *> result;
  names.reserve(static_cast<std::size_t>(count));
  bool ours = true;
  for (int i = 0; i < count; ++i) {
    const std::string_view text{arguments[i]};
    ours = ours && text != "--";
    if (ours && text.size() > 3 && text.starts_with("--") && text.find('=') == text.size() - 1) {
      names.emplace_back(text.substr(0, text.size() - 1));
      result.push_back(names.back().c_str());
      result.push_back("");
    } else {
      result.push_back(arguments[i]);
    }
  }
  return result;
}

} // namespace

std::unique_ptr<CLI::App> make_app(Invocation &invocation) {
  auto app = std::make_unique<CLI::App>(about, "gatepost");
  // -h is the host, as in psql.
  app->set_help_flag("-?,--help", "Show this and end");
  app->set_version_flag("--version", "gatepost " GATEPOST_VERSION, "Show the version and end");
  app->formatter_fn([](const CLI::App *shown, std::string, CLI::AppFormatMode) { return help_text(*shown); });
  app->require_subcommand(1);
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app->add_option("-d,--dbname", invocation.connect.dbname, "Name of the database, or a connection string")
      ->type_name("DBNAME");
  app->add_option("-h,--host", invocation.connect.host, "Host of the server, or folder of its socket")
      ->type_name("HOST");
  app->add_option("-p,--port", invocation.connect.port, "Port of the server")->type_name("PORT");
  app->add_option("-U,--username", invocation.connect.user, "Role to connect as")->type_name("ROLE");
  app->add_flag("--json", invocation.json, "Answer in JSON, one value a line, tokens as strings");
  add_duration(
      *app, "--timeout", invocation.timeout,
      "How long an answer of the server may take, 0s for as long as it takes; 10s when not given, 5s of run, hold "
      "and acquire");
  for (const auto add : {add_run, add_hold, add_acquire, add_renew, add_release, add_ls, add_status, add_break,
                         add_request_yield, add_waiters, add_history, add_timeline, add_init, add_protect, add_purge,
                         add_doctor, add_metrics, add_completion, add_man})
    add(*app, invocation);
  for (CLI::App *command : app->get_subcommands([](const CLI::App *) { return true; }))
    refuse_empty_values(*command);
  return app;
}

std::optional<int> parse(Invocation &invocation, int count, char **arguments) {
  // Options and callbacks refer to it until the action has been run.
  static std::unique_ptr<CLI::App> app;
  app = make_app(invocation);
  try {
    std::vector<std::string> names;
    const std::vector<const char *> given = with_empty_values(count, arguments, names);
    app->parse(static_cast<int>(given.size()), given.data());
  } catch (const CLI::CallForHelp &) {
    const std::vector<CLI::App *> chosen = app->get_subcommands();
    print(help_text(chosen.empty() ? *app : *chosen[0]));
    return success;
  } catch (const CLI::CallForVersion &) {
    print("gatepost " GATEPOST_VERSION);
    return success;
  } catch (const CLI::ParseError &error) {
    throw misuse(*app, error);
  }
  invocation.subcommand = app->get_subcommands()[0]->get_name();
  if (!invocation.timeout.empty())
    invocation.connect.patience = duration(invocation.timeout);
  return std::nullopt;
}

} // namespace gatepost::cli
