// What the subcommands have in common. Each has a file of its own and puts itself into the tree, of which --help, the
// manual page and the completions are made.
#pragma once

#include "connection.hpp"
#include "exit_status.hpp"
#include "failure.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gatepost::cli {

/// What was asked for.
struct Invocation {
  std::string subcommand{};
  ConnectOptions connect;
  std::string timeout{}; ///< empty: as usual
  bool json = false;
  std::vector<std::string> environment; ///< as it was when the program began
  std::function<int()> action;
};

/// A subcommand: its name, what it does in half a line, and more of it for whoever asks.
CLI::App &add_command(CLI::App &root, const std::string &name, const std::string &brief, const std::string &more);

/// An argument that names a lease.
CLI::Option *add_name(CLI::App &command, std::string &name, bool required = true);
CLI::Option *add_token(CLI::App &command, std::string &token);
CLI::Option *check_token(CLI::Option *option);
CLI::Option *add_ttl(CLI::App &command, std::string &ttl);
/// For parse_duration(); `standard` is shown, and the value when the option is not given.
CLI::Option *add_duration(CLI::App &command, const std::string &option, std::string &value, const std::string &text);
CLI::Option *add_number(CLI::App &command, const std::string &option, int &value, int lowest, int highest,
                        const std::string &text);
/// For check().
std::function<std::string(const std::string &)> number_between(int lowest, int highest);

/// The connection of a subcommand that asks a few things and ends.
std::unique_ptr<Connection> connect(const Invocation &invocation, Access access);
/// Of one that asks for something that takes its time, and is waited for without end unless --timeout says otherwise.
std::unique_ptr<Connection> connect_for_long(const Invocation &invocation, Access access);

/// Ends the program without ending its threads, which may be waiting for a server that does not answer.
[[noreturn]] void leave(int status) noexcept;

/// Lives as long as the program, for the same reason.
template <typename Type, typename... Arguments> Type &for_good(Arguments &&...arguments) {
  return *new Type(std::forward<Arguments>(arguments)...);
}

void print(const std::string &line);
/// On standard error.
void complain(const Invocation &invocation, int status, const std::string &message);

void add_run(CLI::App &root, Invocation &invocation);
void add_hold(CLI::App &root, Invocation &invocation);
void add_acquire(CLI::App &root, Invocation &invocation);
void add_renew(CLI::App &root, Invocation &invocation);
void add_release(CLI::App &root, Invocation &invocation);
void add_ls(CLI::App &root, Invocation &invocation);
void add_status(CLI::App &root, Invocation &invocation);
void add_break(CLI::App &root, Invocation &invocation);
void add_request_yield(CLI::App &root, Invocation &invocation);
void add_waiters(CLI::App &root, Invocation &invocation);
void add_history(CLI::App &root, Invocation &invocation);
void add_timeline(CLI::App &root, Invocation &invocation);
void add_init(CLI::App &root, Invocation &invocation);
void add_protect(CLI::App &root, Invocation &invocation);
void add_purge(CLI::App &root, Invocation &invocation);
void add_doctor(CLI::App &root, Invocation &invocation);
void add_metrics(CLI::App &root, Invocation &invocation);
void add_completion(CLI::App &root, Invocation &invocation);
void add_man(CLI::App &root, Invocation &invocation);

} // namespace gatepost::cli
