#include "grant_options.hpp"

#include "duration.hpp"
#include "terminal.hpp"

#include <gatepost/error.hpp>

#include <mutex>
#include <string_view>

#include <unistd.h>

namespace gatepost::cli {

void add_grant_options(CLI::App &command, GrantOptions &options) {
  add_name(command, options.name);
  add_ttl(command, options.ttl);
  add_duration(
      command, "--wait", options.wait,
      "How long to wait for a name that is busy, in the server's queue, but for permits by asking again and again; not "
      "at all when not given");
  add_number(command, "--permits", options.permits, 1, 10000,
             "The name is a semaphore with so many permits, and one of them is taken");
  add_number(command, "--weight", options.weight, 1, 10000, "Take so many permits at once")->needs("--permits");
  command.add_option("--owner", options.owner, "A label for people, shown by ls; PROGRAM@HOST/PID when not given")
      ->type_name("TEXT");
  command.add_option("--metadata", options.metadata, "A JSON object for people, shown by ls --json")->type_name("JSON");
}

std::string default_owner(const std::string &program) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return program.substr(program.rfind('/') + 1).substr(0, 100) + '@' + std::string{host}.substr(0, 100) + '/' +
         std::to_string(getpid());
}

std::unique_ptr<Connection> first_connection(const Invocation &invocation) {
  set_connection_defaults(Access::read_write);
  return open_checked(invocation.connect);
}

Client make_client(const Invocation &invocation, std::unique_ptr<Connection> connection, ClientOptions options) {
  struct First {
    std::mutex mutex;
    std::unique_ptr<Connection> connection;
  };
  auto first = std::make_shared<First>();
  first->connection = std::move(connection);
  if (invocation.connect.patience.count() > 0 && !invocation.timeout.empty())
    options.call_timeout = invocation.connect.patience;
  return Client{[first, connect = invocation.connect]() -> std::unique_ptr<Connection> {
                  {
                    const std::lock_guard lock{first->mutex};
                    if (first->connection)
                      return std::move(first->connection);
                  }
                  return open(connect);
                },
                std::move(options)};
}

std::optional<Held> acquire(Client &client, const GrantOptions &options, const LeaseOptions &hooks,
                            const Waiting &waiting) {
  const Ttl ttl{duration(options.ttl)};
  const std::chrono::nanoseconds wait = options.forever
                                            ? std::chrono::nanoseconds::max()
                                            : std::chrono::nanoseconds{duration(options.waits() ? options.wait : "0")};
  std::optional<Progress> progress;
  if (options.waits())
    progress.emplace("waiting for \"" + printable(options.name) + '"');
  std::optional<Held> held;
  const auto keep = [&](auto &&guard) {
    if (guard)
      held.emplace(std::move(*guard));
  };
  try {
    if (options.permits > 0) {
      const Semaphore semaphore{options.name, options.permits, options.weight};
      keep(options.waits() ? client.acquire_for(semaphore, wait, ttl, hooks, waiting.token())
                           : client.try_acquire(semaphore, ttl, hooks));
    } else {
      keep(options.waits() ? client.acquire_for(options.name, wait, ttl, hooks, waiting.token())
                           : client.try_acquire(options.name, ttl, hooks));
    }
  } catch (const error &error) {
    // Nothing else that is given is read as a value of a type.
    if (std::string_view{error.sqlstate()} == "22P02" && !options.metadata.empty())
      throw Failure{usage, "--metadata is not JSON"};
    throw;
  }
  return held;
}

Failure interrupted(int signal) { return {128 + signal, "signal " + std::to_string(signal) + " came while waiting"}; }

void end_wait(Waiting &waiting, std::optional<Held> &held) {
  int signal = waiting.signal();
  if (signal == 0)
    signal = waiting.end();
  if (signal == 0)
    return;
  held.reset();
  waiting.end();
  throw interrupted(signal);
}

Waiting::Rules rules_of_acquire(const Invocation &invocation) {
  Waiting::Rules rules;
  rules.last_words = [&invocation](int status) { complain(invocation, status, interrupted(status - 128).what()); };
  return rules;
}

} // namespace gatepost::cli
