// The manual page, from the same tree as --help.
#include "app.hpp"

namespace gatepost::cli {

namespace {

/// Characters that mean something to roff.
std::string roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if ((c == '.' || c == '\'') && begins)
      result += std::string{"\\&"} + c;
    else
      result += c;
    begins = c == '\n';
  }
  return result;
}

std::string paragraphs(const std::string &text) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.empty())
      result += ".PP\n";
    else if (line[0] == '{')
      // A line of a protocol stays one.
      result += ".br\n" + roff(line) + '\n';
    else
      result += roff(line) + '\n';
    at = end + 1;
  }
  return result;
}

std::string entries(const std::vector<const CLI::Option *> &options) {
  std::string result;
  for (const CLI::Option *option : options)
    result += ".TP\n.B " + roff(option->get_positional() ? option->get_name(true) : option_text(*option)) + '\n' +
              roff(option->get_description()) + '\n';
  return result;
}

struct Example {
  const char *text, *command;
};
constexpr Example examples[] = {
    {"One of many hosts makes the report, once a night, from cron:",
     "gatepost run nightly --once \"$(date +%F)\" -- make-report"},
    {"At most three at a time, waiting up to a minute:", "gatepost run importer --permits 3 --wait 1m -- import-next"},
    {"A daemon that runs on one of several hosts:",
     "gatepost run scheduler --elect --isolate -- scheduler --foreground"},
    {"Who holds what, as it changes:", "gatepost ls --watch"},
};

} // namespace

std::string man_page(const CLI::App &app) {
  std::string text = ".TH GATEPOST 1 \"\" \"gatepost " GATEPOST_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\ngatepost \\- run commands under leases, and look after leases in PostgreSQL\n.SH SYNOPSIS\n";
  const std::vector<const CLI::App *> commands = app.get_subcommands([](const CLI::App *) { return true; });
  for (const CLI::App *command : commands)
    text += ".B " + roff(usage_text(*command)) + "\n.br\n";
  text += ".SH DESCRIPTION\n" + paragraphs(app.get_description());
  text += ".SH OPTIONS\nBefore or after the command:\n" + entries(options_of(app));
  text += ".SH COMMANDS\n";
  for (const CLI::App *command : commands) {
    text += ".SS " + roff(usage_text(*command)) + '\n' + roff(command->get_description()) + ".\n";
    if (!command->get_footer().empty())
      text += ".PP\n" + paragraphs(command->get_footer());
    text += entries(arguments_of(*command));
    for (const CLI::Option *option : options_of(*command))
      if (option->get_name(false, true).find("--help") == std::string::npos)
        text += entries({option});
  }
  text += ".SH EXIT STATUS\n";
  for (const StatusText *status = status_texts; status->number != nullptr; ++status)
    text += ".TP\n.B " + roff(status->number) + '\n' + roff(status->meaning) + '\n';
  text += ".SH ENVIRONMENT\nAs for\n.BR psql (1):\nPGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSFILE, PGSERVICE and the "
          "other\n"
          "variables of libpq. NO_COLOR switches colours off, which are for terminals only.\n"
          "GATEPOST_NAME, GATEPOST_TOKEN and GATEPOST_DEADLINE are set for the command of run.\n";
  text += ".SH EXAMPLES\n";
  for (const Example &example : examples)
    text += ".PP\n" + roff(example.text) + "\n.PP\n.RS\n.nf\n" + roff(example.command) + "\n.fi\n.RE\n";
  return text + ".SH SEE ALSO\n.BR psql (1),\n.BR flock (1)";
}

void add_man(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "man", "Print the manual page, for man -l", "");
  command.callback([&root, &invocation] {
    invocation.action = [&root] {
      print(man_page(root));
      return static_cast<int>(success);
    };
  });
}

} // namespace gatepost::cli
