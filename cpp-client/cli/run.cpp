// gatepost run: a command under a lease.
#include "command.hpp"
#include "duration.hpp"
#include "grant_options.hpp"
#include "json.hpp"
#include "mutant.hpp"
#include "output.hpp"
#include "supervisor.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace gatepost::cli {

namespace {

struct RunOptions {
  GrantOptions grant;
  std::vector<std::string> command;
  bool elect = false, isolate = false, verbose = false;
  std::string once, grace, yield_signal;
  int busy_exit = busy, lost_exit = lost;
  std::optional<int> fail_exit;
};

constexpr const char *more =
    R"(Takes the lease NAME, runs COMMAND, gives the lease back when COMMAND has ended, and ends with its status. While it runs the lease is renewed, at a third of its ttl. When the name is busy nothing is run and nothing is said, so that cron sends no mail; the status is 75.

COMMAND finds GATEPOST_NAME, GATEPOST_TOKEN for fence_use() and fenced_update(), and GATEPOST_DEADLINE, when the lease would lapse if it were not renewed, in seconds of the machine's boot clock, the first number of /proc/uptime.

COMMAND has a process group of its own. Signals HUP, INT, QUIT, TERM, USR1, USR2, ALRM and WINCH are passed on to it. When COMMAND ends, what it has left in its group is killed, and then the lease is given back. Ctrl-Z does not stop it, since the lease has to be renewed; in the background it waits for the terminal as other commands do.

A renewal that fails is tried again, over a restart of the server too. When it has not come in time, the group gets SIGTERM, and SIGKILL at the latest the margin before the server's deadline: the margin is 1s or a tenth of the ttl, whichever is more, and at most a quarter of the ttl; SIGTERM comes by --grace before SIGKILL. When the server says that the lease is gone SIGKILL comes at once. Either way the status is 76.

When this program itself is killed, COMMAND is killed by the kernel, and with --isolate all that it has started. Not reached are: without --isolate processes that have left the process group, and commands that change their user on the way (sudo); what runs on another machine; and a process that waits for a device. A program that is stopped (SIGSTOP, a frozen cgroup, a suspended machine) cannot kill anything before it goes on. Data stay safe by the token all the same.

With --isolate COMMAND has its own process numbers and its own view of /proc, and what it mounts goes with it. Without root this needs user namespaces, and sudo does not work inside.)";

int signal_number(const std::string &name) {
  static constexpr std::pair<std::string_view, int> known[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
                                                               {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}};
  for (const auto &[text, number] : known)
    if (name == text || name == "SIG" + std::string{text})
      return number;
  return 0;
}

double seconds(boot_clock::time_point moment) { return static_cast<double>(moment.time_since_epoch().count()) / 1e9; }

/// What run itself has to say goes to standard error: standard output is the command's.
class Teller {
public:
  Teller(const Invocation &invocation, const RunOptions &options)
      : name_{options.grant.name}, json_{invocation.json}, verbose_{options.verbose} {}

  void event(const std::string &event, const std::string &reason, Value token = {}, std::optional<int> status = {},
             std::optional<boot_clock::time_point> deadline = {}) const {
    if (json_) {
      JsonObject object;
      object.text("event", event).text("name", name_);
      object.seconds("at", seconds(boot_clock::now()));
      if (token)
        object.text("token", *token);
      if (deadline)
        object.seconds("deadline", seconds(*deadline));
      if (!reason.empty())
        object.text("reason", reason);
      if (status)
        object.number("status", *status);
      line(object.str());
    } else if (verbose_) {
      line("gatepost: \"" + name_ + "\" " + event + (token ? ", token " + *token : "") +
           (reason.empty() ? "" : ": " + reason) + (status ? ", status " + std::to_string(*status) : ""));
    }
  }

private:
  /// What does not fit is left out: a reader that is slow must not keep the command from being killed in time.
  void line(const std::string &text) const {
    const std::string whole = text + '\n';
    [[maybe_unused]] const ssize_t written = output_.write(whole.data(), whole.size());
  }
  const Output output_{STDERR_FILENO};
  const std::string name_;
  const bool json_, verbose_;
};

/// How long a server that does not answer is asked to take the lease back, when the command has ended, and when the
/// lease was lost, which only helps whoever waits for it. It lapses all the same.
constexpr std::chrono::seconds patience_at_end{6}, patience_after_loss{2};

std::chrono::nanoseconds margin_of(std::chrono::nanoseconds ttl) {
  return std::min({std::max(std::chrono::nanoseconds{std::chrono::seconds{1}}, ttl / 10), ttl / 4});
}

/// COMMAND may end with the same numbers, so all of ours can be moved.
int status_of(const Failure &failure, const RunOptions &options) {
  if (failure.status() == busy)
    return options.busy_exit;
  if (failure.status() == lost)
    return options.lost_exit;
  return failure.status() < 128 && !mutant("failure_unmoved") ? options.fail_exit.value_or(failure.status())
                                                              : failure.status();
}

class Run {
public:
  Run(const Invocation &invocation, RunOptions &options, std::unique_ptr<Connection> first)
      : invocation_{invocation}, options_{options}, teller_{invocation, options}, ttl_{duration(options.grant.ttl)},
        client_{make_client(invocation, std::move(first), client_options())} {
    options_.grant.forever = options_.elect;
  }

  int run() {
    while (true) {
      const std::optional<int> status = turn();
      if (status)
        return *status;
    }
  }

private:
  ClientOptions client_options() {
    ClientOptions result;
    result.owner = options_.grant.owner.empty() ? default_owner(options_.command[0]) : options_.grant.owner;
    if (options_.verbose)
      result.log = [this](LogLevel level, std::string_view message) {
        if (level != LogLevel::debug)
          teller_.event("log", one_line(message));
      };
    return result;
  }

  /// From the grant to its end. Empty: the lease was lost, and another term is wanted.
  std::optional<int> turn() {
    LeaseOptions hooks;
    hooks.metadata = options_.grant.metadata;
    hooks.on_lost = [this](Loss) { alarm_.wake.call(); };
    hooks.on_yield = [this](const std::string &) {
      alarm_.yield = true;
      alarm_.wake.call();
    };
    Waiting waiting{watcher_, rules_of_acquire(invocation_)};
    std::optional<Held> held = acquire(client_, options_.grant, hooks, waiting);
    const bool claimed = !held || options_.once.empty() || mutant("once_is_often") || claim(grant_of(*held));
    end_wait(waiting, held);
    if (!held) {
      teller_.event("busy", "");
      if (mutant("busy_is_said"))
        complain(invocation_, busy, "busy");
      return mutant("busy_is_success") ? static_cast<int>(success) : options_.busy_exit;
    }
    Grant &grant = grant_of(*held);
    const std::string token = to_string(grant.token());
    teller_.event("granted", "", token, {}, grant.deadline());
    if (!claimed) {
      teller_.event("done", "key " + options_.once, token);
      release(grant, Waiting::Rules{.limit = patience_at_end, .status = success});
      return success;
    }
    Outcome outcome;
    try {
      outcome = supervised(grant, token);
    } catch (const Failure &failure) {
      release(grant, Waiting::Rules{.limit = patience_at_end, .status = status_of(failure, options_)});
      throw;
    }
    if (!outcome.lost) {
      release(grant, Waiting::Rules{.limit = patience_at_end, .status = outcome.status});
      teller_.event("ended", "", token, outcome.status);
      return outcome.status;
    }
    teller_.event("lost", outcome.reason, token, outcome.status);
    const Failure failure{
        lost, "lease \"" + options_.grant.name + "\" was lost (" + outcome.reason + ") before the command had " +
                  (outcome.begun ? "ended; it ended with status " + std::to_string(outcome.status) : "begun")};
    if (options_.elect && outcome.signal == 0 && !mutant("one_term_only")) {
      if (const int signal = release(grant, rules_of_acquire(invocation_)); signal != 0)
        throw interrupted(signal);
      return std::nullopt;
    }
    Waiting::Rules rules{.limit = patience_after_loss, .status = options_.lost_exit};
    rules.last_words = [&](int status) { complain(invocation_, status, failure.what()); };
    release(grant, std::move(rules));
    if (mutant("loss_is_success"))
      return outcome.status;
    throw failure;
  }

  bool claim(const Grant &grant) {
    return client_
               .execute("SELECT gatepost.fence_claim($1, $2, $3::bigint)",
                        std::vector<Value>{options_.grant.name, options_.once, to_string(grant.token())})
               .first() == "t";
  }

  Outcome supervised(const Grant &grant, const std::string &token) {
    const std::chrono::nanoseconds margin = margin_of(ttl_);
    Supervision rules;
    rules.lead = std::min<std::chrono::nanoseconds>(std::chrono::milliseconds{250}, margin / 4);
    rules.grace = options_.grace.empty() ? margin : std::chrono::nanoseconds{duration(options_.grace)};
    rules.yield_signal = signal_number(options_.yield_signal);
    rules.tell = [&](const std::string &event, const std::string &reason) { teller_.event(event, reason, token); };
    Command command{options_.command, invocation_.environment, options_.isolate};
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", seconds(grant.deadline() + margin));
    std::erase_if(command.environment, [](const std::string &entry) {
      return entry.starts_with("GATEPOST_NAME=") || entry.starts_with("GATEPOST_TOKEN=") ||
             entry.starts_with("GATEPOST_DEADLINE=");
    });
    command.environment.push_back("GATEPOST_NAME=" + options_.grant.name);
    if (!mutant("token_kept_back"))
      command.environment.push_back("GATEPOST_TOKEN=" + token);
    command.environment.push_back(std::string{"GATEPOST_DEADLINE="} + text);
    // What comes late here would come late there.
    if (boot_clock::now() >= grant.deadline() - rules.lead - rules.grace && !mutant("begun_late")) {
      Outcome outcome;
      outcome.begun = false;
      outcome.lost = true;
      outcome.reason = to_string(grant.loss().value_or(Loss::expired));
      return outcome;
    }
    Child child{command, signals_.before()};
    return supervise(grant, child, signals_, alarm_, rules);
  }

  /// The command has done its work, or its lease is lost, so this fails nothing. A signal that came meanwhile, or 0.
  int release(Grant &grant, Waiting::Rules rules) {
    Waiting waiting{watcher_, std::move(rules)};
    if (mutant("not_given_back")) {
      static_cast<void>(grant.detach());
      return waiting.end();
    }
    try {
      if (!grant.release())
        teller_.event("unreleased", "no longer held");
    } catch (const std::exception &error) {
      teller_.event("unreleased", one_line(error.what()));
    }
    return waiting.end();
  }

  const Invocation &invocation_;
  RunOptions &options_;
  const Teller teller_;
  const std::chrono::nanoseconds ttl_;
  Signals signals_; ///< before the client has threads
  Watcher watcher_{signals_};
  Alarm alarm_; ///< outlives the guards that call it
  Client client_;
};

} // namespace

void add_run(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "run", "Run a command while holding a lease", more);
  auto options = std::make_shared<RunOptions>();
  add_grant_options(command, options->grant);
  command.add_option("COMMAND", options->command, "What to run, with its arguments; -- goes before it")
      ->type_name("")
      ->required()
      ->expected(1, CLI::detail::expected_max_vector_size);
  command
      .add_flag("--elect", options->elect,
                "Wait without end until the name is free, and again after a loss; ends when COMMAND ends by itself")
      ->excludes("--wait");
  command
      .add_option("--once", options->once,
                  "Run only if nobody has run with this key before, whatever came of it; else end with 0")
      ->type_name("KEY");
  command.add_flag("--isolate", options->isolate, "Everything that COMMAND starts ends with it");
  add_duration(command, "--grace", options->grace,
               "How long before SIGKILL a lost command gets SIGTERM; the margin when not given");
  command
      .add_option("--on-yield", options->yield_signal,
                  "Send this signal when somebody asks for the lease (request-yield)")
      ->type_name("SIGNAL")
      ->check([](const std::string &text) -> std::string {
        return signal_number(text) != 0 ? "" : "\"" + text + "\" is none of HUP, INT, QUIT, TERM, USR1, USR2";
      });
  add_number(command, "--busy-exit", options->busy_exit, 0, 255, "The status when the name is busy, instead of 75");
  add_number(command, "--lost-exit", options->lost_exit, 0, 255, "The status when the lease is lost, instead of 76");
  command
      .add_option("--fail-exit", options->fail_exit,
                  "The status when COMMAND cannot be run for another reason, such as no server, instead of 69, 70, "
                  "77, 78, 126, 127 and the like")
      ->type_name("N")
      ->check(number_between(0, 255));
  command.add_flag("--verbose", options->verbose, "Say on standard error what happens to the lease");
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      const std::chrono::nanoseconds ttl = duration(options->grant.ttl);
      if (!options->grace.empty() && duration(options->grace) > ttl / 3)
        throw Failure{usage, "--grace is at most a third of the ttl, " + duration_text(ttl / 3)};
      try {
        std::unique_ptr<Connection> first = first_connection(invocation);
        return for_good<Run>(invocation, *options, std::move(first)).run();
      } catch (...) {
        const Failure failure = current_failure(invocation.subcommand);
        throw Failure{status_of(failure, *options), failure.what()};
      }
    };
  });
}

} // namespace gatepost::cli
