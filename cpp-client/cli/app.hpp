// The tree of subcommands, and what is made of it.
#pragma once

#include "command.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gatepost::cli {

std::unique_ptr<CLI::App> make_app(Invocation &invocation);

/// Fills in the invocation, or does what --help and --version ask for and returns their status. Throws Failure.
std::optional<int> parse(Invocation &invocation, int count, char **arguments);

/// For people at a terminal.
std::string help_text(const CLI::App &app);
/// One line: gatepost run [OPTION].. NAME -- COMMAND [ARG]..
std::string usage_text(const CLI::App &app);

/// The options of one app, or its arguments.
std::vector<const CLI::Option *> options_of(const CLI::App &app);
std::vector<const CLI::Option *> arguments_of(const CLI::App &app);
/// "-d, --dbname NAME".
std::string option_text(const CLI::Option &option);
bool takes_value(const CLI::Option &option);

std::string man_page(const CLI::App &app);
std::string completion(const CLI::App &app, const std::string &shell);

} // namespace gatepost::cli
