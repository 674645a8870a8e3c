// Completion for bash, zsh and fish, from the same tree as --help. Names of leases are asked for.
#include "app.hpp"

namespace gatepost::cli {

namespace {

std::vector<const CLI::App *> commands_of(const CLI::App &app) {
  return app.get_subcommands([](const CLI::App *) { return true; });
}

std::vector<std::string> names_of(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  for (const std::string &name : option.get_snames())
    names.push_back('-' + name);
  return names;
}

bool names_a_lease(const CLI::App &command) {
  const std::vector<const CLI::Option *> arguments = arguments_of(command);
  return !arguments.empty() && arguments[0]->get_name(true) == "NAME";
}
bool runs_a_command(const CLI::App &command) { return command.get_name() == "run"; }

/// The options of a command and of every command.
std::vector<const CLI::Option *> all_options(const CLI::App &app, const CLI::App &command) {
  std::vector<const CLI::Option *> options = options_of(command);
  for (const CLI::Option *option : options_of(app))
    if (option->get_name(false, true).find("--help") == std::string::npos &&
        option->get_name(false, true).find("--version") == std::string::npos)
      options.push_back(option);
  return options;
}

std::string words(const std::vector<const CLI::Option *> &options, bool with_value_only = false) {
  std::string text;
  for (const CLI::Option *option : options)
    if (!with_value_only || takes_value(*option))
      for (const std::string &name : names_of(*option))
        text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string bash(const CLI::App &app) {
  std::string all, with_value, cases, named, files;
  for (const CLI::App *command : commands_of(app)) {
    all += (all.empty() ? "" : " ") + command->get_name();
    cases += "    " + command->get_name() + ") options='" + words(all_options(app, *command)) + "' ;;\n";
    if (names_a_lease(*command))
      named += (named.empty() ? "" : " | ") + command->get_name();
    for (const CLI::Option *option : all_options(app, *command))
      if (takes_value(*option))
        for (const std::string &name : names_of(*option)) {
          std::string &list = option->get_type_name() == "FILE" ? files : with_value;
          if ((" | " + list + " | ").find(" | " + name + " | ") == std::string::npos)
            list += (list.empty() ? "" : " | ") + name;
        }
  }
  return R"(# bash completion for gatepost; made by "gatepost completion bash"
_gatepost() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command= options= word at=0 arguments=0 skip=0
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=${COMP_WORDS[at]}
    if ((skip)); then
      skip=0
      continue
    fi
    case $word in
    --)
      if [[ $command == run ]]; then
        if declare -F _command_offset >/dev/null; then
          _command_offset $((at + 1))
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$current")
        fi
        return
      fi
      ;;
    )" + with_value +
         " | " + files + R"() skip=1 ;;
    -*) ;;
    *)
      if [[ -z $command ]]; then command=$word; else arguments=$((arguments + 1)); fi
      ;;
    esac
  done
  if ((skip)); then
    case $previous in
    )" + files +
         R"() mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
    return
  fi
  case $command in
    '') options=')" +
         words(options_of(app)) + R"(' ;;
)" + cases +
         R"(  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         all + R"(' -- "$current")
  elif ((arguments == 0)); then
    case $command in
    )" + named +
         R"()
      # Names may hold anything; those with blanks are left to be typed.
      mapfile -t COMPREPLY < <(PGCONNECT_TIMEOUT=2 gatepost ls --all --names "$current" 2>/dev/null | grep -v '[[:space:]]')
      ;;
    completion) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$current") ;;
    esac
  fi
}
complete -F _gatepost gatepost)";
}

/// Inside a quoted spec of _arguments.
std::string zsh_text(const std::string &text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'')
      result += "'\\'";
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_specs(const std::vector<const CLI::Option *> &options) {
  std::string text;
  for (const CLI::Option *option : options)
    for (const std::string &name : names_of(*option)) {
      text += " \\\n        '";
      text += option->get_expected_max() > 1 ? "*" : "";
      text += name + '[' + zsh_text(option->get_description()) + ']';
      if (takes_value(*option))
        text += ':' + zsh_text(option->get_type_name()) + ':' + (option->get_type_name() == "FILE" ? "_files" : "");
      text += '\'';
    }
  return text;
}

std::string zsh(const CLI::App &app) {
  std::string list, cases;
  for (const CLI::App *command : commands_of(app)) {
    list += "    '" + command->get_name() + ':' + zsh_text(command->get_description()) + "'\n";
    cases += "      " + command->get_name() + ")\n        _arguments -s" + zsh_specs(all_options(app, *command));
    if (names_a_lease(*command))
      cases += " \\\n        '1:name:_gatepost_names'";
    if (runs_a_command(*command))
      cases += " \\\n        '*::command: _normal'";
    if (command->get_name() == "completion")
      cases += " \\\n        '1:shell:(bash zsh fish)'";
    cases += "\n        ;;\n";
  }
  return R"(#compdef gatepost
# zsh completion for gatepost; made by "gatepost completion zsh"
_gatepost_names() {
  local -a names
  names=("${(@f)$(PGCONNECT_TIMEOUT=2 gatepost ls --all --names 2>/dev/null)}")
  (( ${#names} )) && compadd -a names
}
_gatepost() {
  local -a commands
  local state line
  commands=(
)" + list +
         R"(  )
  _arguments -s -C)" +
         zsh_specs(options_of(app)) + R"( \
        '1:command:->command' \
        '*::argument:->argument'
  case $state in
  command) _describe command commands ;;
  argument)
    case $words[1] in
)" + cases +
         R"(    esac
    ;;
  esac
}
if [ "$funcstack[1]" = _gatepost ]; then
  _gatepost "$@"
else
  compdef _gatepost gatepost
fi)";
}

std::string fish_text(const std::string &text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'' || c == '\\')
      result += '\\';
    result += c;
  }
  return result;
}

std::string fish_options(const std::string &condition, const std::vector<const CLI::Option *> &options) {
  std::string text;
  for (const CLI::Option *option : options) {
    text += "complete -c gatepost" + (condition.empty() ? "" : " -n '" + condition + '\'');
    for (const std::string &name : option->get_lnames())
      text += " -l " + name;
    for (const std::string &name : option->get_snames())
      text += " -s '" + name + '\'';
    if (takes_value(*option))
      text += option->get_type_name() == "FILE" ? " -r -F" : " -x";
    text += " -d '" + fish_text(option->get_description()) + "'\n";
  }
  return text;
}

std::string fish(const CLI::App &app) {
  std::string all;
  for (const CLI::App *command : commands_of(app))
    all += ' ' + command->get_name();
  std::string text = R"(# fish completion for gatepost; made by "gatepost completion fish"
complete -c gatepost -f
)" + fish_options("", options_of(app));
  const std::string none = "not __fish_seen_subcommand_from" + all;
  for (const CLI::App *command : commands_of(app)) {
    const std::string seen = "__fish_seen_subcommand_from " + command->get_name();
    text += "complete -c gatepost -n '" + none + "' -a " + command->get_name() + " -d '" +
            fish_text(command->get_description()) + "'\n";
    std::vector<const CLI::Option *> own = options_of(*command);
    std::erase_if(own, [](const CLI::Option *option) {
      return option->get_name(false, true).find("--help") != std::string::npos;
    });
    text += fish_options(seen, own);
    if (names_a_lease(*command))
      text +=
          "complete -c gatepost -n '" + seen + "' -a '(PGCONNECT_TIMEOUT=2 gatepost ls --all --names 2>/dev/null)'\n";
    if (runs_a_command(*command))
      text += "complete -c gatepost -n '" + seen +
              "; and contains -- -- (commandline -opc)' -a '(__fish_complete_command)'\n";
    if (command->get_name() == "completion")
      text += "complete -c gatepost -n '" + seen + "' -a 'bash zsh fish'\n";
  }
  text.pop_back();
  return text;
}

} // namespace

std::string completion(const CLI::App &app, const std::string &shell) {
  return shell == "bash" ? bash(app) : shell == "zsh" ? zsh(app) : fish(app);
}

void add_completion(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "completion", "Print completions for a shell",
                                  "For bash: source <(gatepost completion bash). The installation puts them where the "
                                  "shells look.");
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check([](const std::string &text) {
        return text == "bash" || text == "zsh" || text == "fish" ? std::string{}
                                                                 : "\"" + text + "\" is none of bash, zsh, fish";
      });
  command.callback([&root, &invocation, shell] {
    invocation.action = [&root, shell] {
      print(completion(root, *shell));
      return static_cast<int>(success);
    };
  });
}

} // namespace gatepost::cli
