// gatepost hold: a lease for a program in any language, by lines on standard output.
#include "command.hpp"
#include "grant_options.hpp"
#include "json.hpp"
#include "mutant.hpp"
#include "output.hpp"

#include <cerrno>
#include <mutex>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

constexpr const char *more =
    R"(Takes the lease NAME, keeps it renewed, and says on standard output, one line each, what happens to it, until standard input is closed; then the lease is given back. For programs in other languages: they start this, read lines, and close the pipe when they have done.

With --json each line is an object with a member "event", and "at", the moment in seconds of the machine's boot clock:
{"event":"granted","name":"..","token":"..","deadline":..} the lease is held: begin. Until the deadline, by the boot clock, it is safe to go on without hearing more
{"event":"renewed","deadline":..} it is held until that deadline
{"event":"at_risk","left":..} renewals are late; the deadline is so many seconds away
{"event":"yield","reason":".."} somebody asks for the lease
{"event":"lost","reason":".."} the end: stop working. The status is 76
{"event":"released"} the end: standard input was closed, or a signal came. With "not_confirmed":".." the server has not said so, and the lease may last until its deadline
{"event":"busy"} the end: somebody else holds the name. The status is 75
Other events may come in later versions, to be skipped. The line "release" on standard input is as good as closing it; other lines are not looked at. Without --json the same is said in words.

When whoever has started this dies, the pipe is closed, and the lease is given back. A program that stops reading does not stop the renewals.)";

struct HoldOptions {
  GrantOptions grant;
};

double seconds(boot_clock::time_point moment) { return static_cast<double>(moment.time_since_epoch().count()) / 1e9; }

/// What threads of the client want to be said is kept for the main one.
struct News {
  Wake wake;
  std::mutex mutex;
  std::vector<std::string> lines;

  void add(std::string line) {
    {
      const std::lock_guard lock{mutex};
      lines.push_back(std::move(line));
    }
    wake.call();
  }
  std::vector<std::string> take() {
    wake.take();
    const std::lock_guard lock{mutex};
    return std::exchange(lines, {});
  }
};

JsonObject event(const char *what) {
  JsonObject object;
  object.text("event", what).seconds("at", seconds(boot_clock::now()));
  return object;
}

/// Never waits for the reader: lines that a full pipe does not take are kept for later.
class Lines {
public:
  /// False: the reader has gone.
  bool add(const std::string &line) {
    // A reader who is this far behind is told less.
    if (kept_.size() < 1 << 20)
      kept_ += line + '\n';
    return flush();
  }
  bool flush() {
    while (!kept_.empty()) {
      const ssize_t written = output_.write(kept_.data(), kept_.size());
      if (written < 0)
        return errno == EAGAIN || errno == EINTR;
      kept_.erase(0, static_cast<std::size_t>(written));
    }
    return true;
  }
  bool waiting() const noexcept { return !kept_.empty(); }
  /// The last words: waits a moment for a slow reader.
  void finish() {
    for (int tries = 0; waiting() && tries < 20 && flush(); ++tries)
      if (pollfd file{STDOUT_FILENO, POLLOUT, 0}; waiting() && poll(&file, 1, 100) < 0)
        return;
  }

private:
  const Output output_{STDOUT_FILENO};
  std::string kept_;
};

class Hold {
public:
  Hold(const Invocation &invocation, const HoldOptions &options, std::unique_ptr<Connection> first)
      : invocation_{invocation}, json_{invocation.json}, options_{options}, client_{make_client(invocation,
                                                                                                std::move(first),
                                                                                                client_options())} {}

  int run() {
    LeaseOptions hooks;
    hooks.metadata = options_.grant.metadata;
    hooks.on_lost = [this](Loss) { news_.wake.call(); };
    hooks.on_warning = [this](std::chrono::nanoseconds left) {
      const double length = static_cast<double>(left.count()) / 1e9;
      news_.add(json_ ? event("at_risk").seconds("left", length).str() : "renewals are late");
    };
    hooks.on_yield = [this](const std::string &reason) {
      news_.add(json_ ? event("yield").text("reason", reason).str()
                      : "somebody asks for the lease" + (reason.empty() ? "" : ": " + one_line(reason)));
    };
    Waiting waiting{watcher_, rules_of_acquire(invocation_)};
    std::optional<Held> held = acquire(client_, options_.grant, hooks, waiting);
    end_wait(waiting, held);
    if (!held) {
      lines_.add(json_ ? event("busy").str() : "busy");
      lines_.finish();
      return busy;
    }
    const int status = keep(grant_of(*held));
    lines_.finish();
    return status;
  }

private:
  ClientOptions client_options() {
    ClientOptions result;
    result.owner = options_.grant.owner.empty() ? default_owner("hold") : options_.grant.owner;
    // A renewal has been answered; the guard's deadline follows.
    result.metric = [this](std::string_view metric, double, std::string_view) {
      if (metric == "gatepost.client.renewals")
        news_.wake.call();
    };
    return result;
  }

  int keep(Grant &grant) {
    boot_clock::time_point told = grant.deadline();
    lines_.add(json_ ? event("granted")
                           .text("name", grant.name().text())
                           .token("token", grant.token())
                           .seconds("deadline", seconds(told))
                           .str()
                     : "granted, token " + to_string(grant.token()));
    std::string input;
    int look_again = 0;
    while (true) {
      for (const std::string &line : news_.take())
        lines_.add(line);
      if (const std::optional<Loss> loss = grant.loss()) {
        lines_.add(json_ ? event("lost").text("reason", to_string(*loss)).str()
                         : "lost: " + std::string{to_string(*loss)});
        lines_.finish();
        // Whoever waits for it need not wait longer, if the server can be reached.
        const Waiting waiting{watcher_, Waiting::Rules{.limit = std::chrono::seconds{2}, .status = lost}};
        try {
          static_cast<void>(grant.release());
        } catch (const std::exception &) {
        }
        return lost;
      }
      if (const boot_clock::time_point deadline = grant.deadline(); deadline > told) {
        told = deadline;
        look_again = 0;
        lines_.add(json_ ? event("renewed").seconds("deadline", seconds(deadline)).str() : "renewed");
      }
      bool ended = false;
      for (int signal = signals_.take(); signal != 0; signal = signals_.take())
        ended = ended || asks_to_end(signal);
      if (ended || (ends(input) && !mutant("input_unwatched")) || !lines_.flush()) {
        release(grant);
        return success;
      }
      pollfd files[]{{signals_.file(), POLLIN, 0},
                     {news_.wake.file(), POLLIN, 0},
                     {STDIN_FILENO, POLLIN, 0},
                     {lines_.waiting() ? STDOUT_FILENO : -1, POLLOUT, 0}};
      // The answer of a renewal is there a moment before the guard has it.
      if (poll(files, 4, look_again > 0 ? 10 : 1000) > 0 && (files[1].revents & POLLIN) != 0)
        look_again = 10;
      else if (look_again > 0)
        --look_again;
      readable_ = (files[2].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0;
    }
  }

  /// Whether standard input is closed, or has said so.
  bool ends(std::string &input) {
    if (!std::exchange(readable_, false))
      return false;
    char buffer[4096];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0)
      return got == 0 || (errno != EAGAIN && errno != EINTR);
    input.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = input.find('\n'); end != std::string::npos; end = input.find('\n')) {
      if (one_line(input.substr(0, end)) == "release")
        return true;
      input.erase(0, end + 1);
    }
    // No word of ours is that long.
    if (input.size() > 4096)
      input.clear();
    return false;
  }

  void release(Grant &grant) {
    const auto told = [&](const std::string &message) {
      lines_.add(json_ ? event("released").text("not_confirmed", message).str()
                       : "released, not confirmed: " + message);
      lines_.finish();
    };
    Waiting waiting{watcher_, Waiting::Rules{.limit = std::chrono::seconds{6},
                                             .status = success,
                                             .last_words = [&](int) { told("no answer of the server"); }}};
    bool released = false;
    std::string message = "it was lost before";
    try {
      released = grant.release();
    } catch (const std::exception &error) {
      message = one_line(error.what());
    }
    waiting.end();
    if (released)
      lines_.add(json_ ? event("released").str() : "released");
    else
      told(message);
  }

  const Invocation &invocation_;
  const bool json_;
  const HoldOptions &options_;
  Signals signals_; ///< before the client has threads
  Watcher watcher_{signals_};
  News news_; ///< outlives the guards that call it
  Lines lines_;
  bool readable_ = false;
  Client client_;
};

} // namespace

void add_hold(CLI::App &root, Invocation &invocation) {
  CLI::App &command =
      add_command(root, "hold", "Hold a lease until standard input is closed, and say what happens to it", more);
  auto options = std::make_shared<HoldOptions>();
  add_grant_options(command, options->grant);
  command.callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      std::unique_ptr<Connection> first = first_connection(invocation);
      return for_good<Hold>(invocation, *options, std::move(first)).run();
    };
  });
}

} // namespace gatepost::cli
