// gatepost acquire, renew, release: one call each, for scripts that keep the token themselves.
#include "command.hpp"
#include "duration.hpp"
#include "grant_options.hpp"
#include "json.hpp"

namespace gatepost::cli {

namespace {

double seconds(boot_clock::time_point moment) { return static_cast<double>(moment.time_since_epoch().count()) / 1e9; }

int acquire_once(const Invocation &invocation, const GrantOptions &options) {
  std::unique_ptr<Connection> first = first_connection(invocation);
  auto &watcher = for_good<Watcher>(for_good<Signals>());
  ClientOptions client_options;
  client_options.owner = options.owner.empty() ? default_owner("acquire") : options.owner;
  auto &client = for_good<Client>(make_client(invocation, std::move(first), client_options));
  LeaseOptions hooks;
  hooks.metadata = options.metadata;
  Waiting waiting{watcher, rules_of_acquire(invocation)};
  std::optional<Held> held = acquire(client, options, hooks, waiting);
  end_wait(waiting, held);
  if (!held) {
    if (invocation.json)
      print(JsonObject{}.text("name", options.name).boolean("granted", false).str());
    else
      complain(invocation, busy, "\"" + options.name + "\" is busy");
    return busy;
  }
  Grant &grant = grant_of(*held);
  const boot_clock::time_point deadline = grant.deadline();
  const Token token = grant.detach();
  if (invocation.json)
    print(JsonObject{}
              .text("name", options.name)
              .boolean("granted", true)
              .token("token", token)
              .seconds("deadline", seconds(deadline))
              .str());
  else
    print(to_string(token));
  return success;
}

/// For renew and release, whose answer is true or false.
int tell(const Invocation &invocation, const std::string &name, const char *what, bool done) {
  if (invocation.json)
    print(JsonObject{}.text("name", name).boolean(what, done).str());
  else if (!done)
    complain(invocation, lost, "the lease \"" + name + "\" is not, or no longer, that token's");
  return done ? success : lost;
}

struct TokenOptions {
  std::string name{}, token{}, ttl{};
};

} // namespace

void add_acquire(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "acquire", "Take a lease, and print its token",
      "Prints the token and leaves the lease to its ttl: renew it with gatepost renew, give it back with gatepost "
      "release. Where a command can be given, gatepost run does that, and stops it when the lease is lost. The status "
      "is 75 when the name is busy.");
  auto options = std::make_shared<GrantOptions>();
  add_grant_options(command, *options);
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] { return acquire_once(invocation, *options); };
  });
}

void add_renew(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(
      root, "renew", "Make a lease last for its ttl from now on",
      "The status is 76 when the lease is not, or no longer, the token's: whoever works under it has to stop.");
  auto options = std::make_shared<TokenOptions>();
  add_name(command, options->name);
  add_token(command, options->token);
  add_duration(command, "--ttl", options->ttl, "The time from now on; that of the grant when not given");
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      const Value ttl = options->ttl.empty() ? Value{} : Value{interval(duration(options->ttl))};
      const Value renewed = ask(*connect(invocation, Access::read_write), invocation.connect,
                                "SELECT gatepost.lease_renew($1, $2::bigint, $3::interval)",
                                std::vector<Value>{options->name, options->token, ttl})
                                .first();
      return tell(invocation, options->name, "renewed", renewed == "t");
    };
  });
}

void add_release(CLI::App &root, Invocation &invocation) {
  CLI::App &command = add_command(root, "release", "Give a lease back",
                                  "The status is 76 when the lease was not, or no longer, the token's.");
  auto options = std::make_shared<TokenOptions>();
  add_name(command, options->name);
  add_token(command, options->token);
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      const Value released =
          ask(*connect(invocation, Access::read_write), invocation.connect,
              "SELECT gatepost.lease_release($1, $2::bigint)", std::vector<Value>{options->name, options->token})
              .first();
      return tell(invocation, options->name, "released", released == "t");
    };
  });
}

} // namespace gatepost::cli
