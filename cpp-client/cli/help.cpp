// --help, from the tree.
#include "app.hpp"

#include "terminal.hpp"

#include <algorithm>

namespace gatepost::cli {

namespace {

/// Lines of at most `width` columns, each after `indent` spaces; a blank line stays one.
std::string wrapped(const std::string &text, std::size_t indent, std::size_t width = 80) {
  std::string result, line;
  const auto flush = [&] {
    if (!line.empty())
      result += std::string(indent, ' ') + line + '\n';
    line.clear();
  };
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n') {
      flush();
      if (at + 1 < text.size() && text[at + 1] == '\n') {
        result += '\n';
        ++at;
      }
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width)
      flush();
    line += (line.empty() ? "" : " ") + word;
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  flush();
  return result;
}

std::string entry(const std::string &left, const std::string &right) {
  constexpr std::size_t column = 26;
  std::string text = wrapped(right, column);
  if (left.size() + 4 <= column)
    text.replace(0, left.size() + 2, "  " + left);
  else
    text.insert(0, "  " + left + '\n');
  return text;
}

} // namespace

std::vector<const CLI::Option *> options_of(const CLI::App &app) {
  std::vector<const CLI::Option *> result;
  for (const CLI::Option *option : app.get_options())
    if (!option->get_positional())
      result.push_back(option);
  return result;
}

std::vector<const CLI::Option *> arguments_of(const CLI::App &app) {
  std::vector<const CLI::Option *> result;
  for (const CLI::Option *option : app.get_options())
    if (option->get_positional())
      result.push_back(option);
  return result;
}

bool takes_value(const CLI::Option &option) { return option.get_type_size_max() > 0 && option.get_expected_max() > 0; }

std::string option_text(const CLI::Option &option) {
  std::string text;
  for (const std::string &name : option.get_snames())
    text += (text.empty() ? "-" : ", -") + name;
  for (const std::string &name : option.get_lnames())
    text += (text.empty() ? "--" : ", --") + name;
  if (takes_value(option))
    text += ' ' + option.get_type_name();
  return text;
}

std::string usage_text(const CLI::App &app) {
  std::string text = app.get_parent() == nullptr ? "gatepost COMMAND" : "gatepost " + app.get_name();
  text += " [OPTION]...";
  for (const CLI::Option *argument : arguments_of(app)) {
    const std::string name = argument->get_name(true);
    if (argument->get_expected_max() > 1)
      text += " -- " + name + " [ARG]...";
    else
      text += argument->get_required() ? ' ' + name : " [" + name + ']';
  }
  return text;
}

std::string help_text(const CLI::App &app) {
  std::string text = "Usage: " + usage_text(app) + "\n\n";
  const bool root = app.get_parent() == nullptr;
  text += wrapped(root ? app.get_description() : app.get_description() + '.', 0);
  if (!root && !app.get_footer().empty())
    text += '\n' + wrapped(app.get_footer(), 0);
  if (root) {
    text += "\nCommands:\n";
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
      text += entry(command->get_name(), command->get_description());
  }
  const auto list = [&](const char *heading, const std::vector<const CLI::Option *> &options) {
    if (options.empty())
      return;
    text += std::string{"\n"} + heading + ":\n";
    for (const CLI::Option *option : options)
      text +=
          entry(option->get_positional() ? option->get_name(true) : option_text(*option), option->get_description());
  };
  list("Arguments", arguments_of(app));
  list("Options", options_of(app));
  if (root) {
    text += "\nExit status:\n";
    for (const StatusText *status = status_texts; status->number != nullptr; ++status)
      text += entry(status->number, status->meaning);
  } else {
    std::vector<const CLI::Option *> common = options_of(*app.get_parent());
    std::erase_if(common, [](const CLI::Option *option) {
      return option->get_name(false, true).find("--help") != std::string::npos ||
             option->get_name(false, true).find("--version") != std::string::npos;
    });
    list("Options of every command", common);
  }
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

} // namespace gatepost::cli
