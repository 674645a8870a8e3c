#include "command.hpp"

#include "duration.hpp"
#include "json.hpp"

#include <gatepost/token.hpp>

#include <cstdio>

#include <poll.h>
#include <unistd.h>

namespace gatepost::cli {

CLI::App &add_command(CLI::App &root, const std::string &name, const std::string &brief, const std::string &more) {
  CLI::App *command = root.add_subcommand(name, brief);
  command->fallthrough();
  command->footer(more);
  return *command;
}

CLI::Option *add_name(CLI::App &command, std::string &name, bool required) {
  CLI::Option *option = command.add_option("NAME", name, "Name of the lease, 1 to 1024 bytes");
  option->type_name("")->required(required);
  option->check([](const std::string &text) -> std::string {
    if (text.empty() || text.size() > 1024)
      return "a name has 1 to 1024 bytes, not " + std::to_string(text.size());
    return {};
  });
  return option;
}

CLI::Option *add_token(CLI::App &command, std::string &token) {
  CLI::Option *option = command.add_option("TOKEN", token, "Its token, as acquire printed it");
  check_token(option->type_name("")->required());
  return option;
}

CLI::Option *check_token(CLI::Option *option) {
  return option->check([](const std::string &text) -> std::string {
    if (text.empty() || text.size() > 16 || text.find_first_not_of("0123456789") != std::string::npos ||
        std::stoll(text) < 1 || std::stoll(text) > Token::highest)
      return "\"" + text + "\" is not a token, which is a number from 1 to " + std::to_string(Token::highest);
    return {};
  });
}

CLI::Option *add_duration(CLI::App &command, const std::string &option, std::string &value, const std::string &text) {
  CLI::Option *added = command.add_option(option, value, text);
  added->type_name("DURATION")->check([](const std::string &given) -> std::string {
    return parse_duration(given) ? "" : "\"" + given + "\" is not a length of time, such as 30s, 500ms or 1h30m";
  });
  return added;
}

CLI::Option *add_ttl(CLI::App &command, std::string &ttl) {
  return add_duration(command, "--ttl", ttl, "How long the lease lasts without being renewed; 30s when not given")
      ->check([](const std::string &given) -> std::string {
        const auto length = parse_duration(given);
        return length && length->count() > 0 ? "" : "a ttl is longer than 0";
      });
}

CLI::Option *add_number(CLI::App &command, const std::string &option, int &value, int lowest, int highest,
                        const std::string &text) {
  return command.add_option(option, value, text)->type_name("N")->check(number_between(lowest, highest));
}

std::function<std::string(const std::string &)> number_between(int lowest, int highest) {
  return [lowest, highest](const std::string &given) -> std::string {
    const bool digits =
        !given.empty() && given.size() <= 9 && given.find_first_not_of("0123456789") == std::string::npos;
    if (digits && std::stoi(given) >= lowest && std::stoi(given) <= highest)
      return {};
    return "\"" + given + "\" is not a number from " + std::to_string(lowest) + " to " + std::to_string(highest);
  };
}

std::unique_ptr<Connection> connect(const Invocation &invocation, Access access) {
  set_connection_defaults(access);
  return open_checked(invocation.connect);
}

std::unique_ptr<Connection> connect_for_long(const Invocation &invocation, Access access) {
  std::unique_ptr<Connection> connection = connect(invocation, access);
  if (invocation.timeout.empty())
    set_patience(*connection, std::chrono::nanoseconds{0});
  return connection;
}

void leave(int status) noexcept {
  // A reader that has gone, or a full disk, is no success.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && status == success)
    status = internal;
  _exit(status);
}

void print(const std::string &line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

void complain(const Invocation &invocation, int status, const std::string &message) {
  const std::string line = invocation.json
                               ? JsonObject{}.text("error", one_line(message)).number("status", status).str() + '\n'
                               : "gatepost: " + one_line(message) + '\n';
  // A reader who has stopped for so long is not waited for.
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, 2000) > 0)
    std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace gatepost::cli
