// The pause test: a guard never says held past the server's deadline, whatever is stopped, cut or half closed.
//   gatepost_pause TRIALS [SEED]
// In each trial a process of its own holds a lease through a proxy, and writes down when it asked held() and was told
// true. Meanwhile, at random, that process is stopped, or the server's processes of it, or the whole server, or the
// proxy stalls, delays, cuts or half closes. Then the last such moment is compared with the last deadline in the
// server's row, less the guard's margin; both in boot time. Fails too when faults of some kind were hardly tried.
#include "proxy.hpp"
#include "server.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::test {
namespace {

enum Kind { holder_stopped, backends_stopped, server_stopped, stalled, delayed, cut, half_closed, kinds };
constexpr const char *names[kinds] = {
    "holder stopped", "its backends stopped", "whole server stopped", "stalled", "delayed", "cut", "half closed"};

/// Shared by all processes.
struct Common {
  /// How often each fault was tried while a guard was held.
  std::atomic<unsigned> tried[kinds];
  /// Guards that are held at the moment.
  std::atomic<int> held;
  std::atomic<bool> over;
};
Common *common = nullptr;

template <typename Shared> Shared *shared() {
  return new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{};
}

/// Shared with the holder's process.
struct Seen {
  std::atomic<std::int64_t> token{0};
  std::atomic<std::int64_t> last_held{0};
  std::atomic<unsigned> asked{0};
  std::atomic<bool> ended{false};
};

/// Runs until its lease is lost or it is told to end.
[[noreturn]] void hold(const std::string &conninfo, const std::string &name, std::chrono::milliseconds ttl,
                       Seen &seen) {
  try {
    // The process may be killed, never quit: its destructors would release.
    auto *client = new Client{conninfo, {.call_timeout = 2s}};
    auto *lease = new std::optional<Lease>;
    const auto give_up = boot_clock::now() + 14s;
    while (!*lease)
      try {
        *lease = client->acquire_for(name, 5s, ttl);
      } catch (const error &) {
        // On a busy machine, or beside a server that is stopped, the grant may come too late.
        if (boot_clock::now() > give_up)
          throw;
      }
    seen.token = (*lease)->token().value();
    while (true) {
      const auto before = boot_clock::now();
      if (!(*lease)->held())
        break;
      seen.last_held = before.time_since_epoch().count();
      ++seen.asked;
      std::this_thread::sleep_for(1ms);
    }
    seen.ended = true;
    // Once lost, lost for good.
    for (int i = 0; i < 200; ++i) {
      if ((*lease)->held())
        _exit(3);
      std::this_thread::sleep_for(1ms);
    }
    _exit(0);
  } catch (const error &) {
    // A fault that came before the grant.
    _exit(2);
  }
}

struct Result {
  bool tried, right;
};

bool has_ended(pid_t process) {
  siginfo_t information{};
  waitid(P_PID, static_cast<id_t>(process), &information, WEXITED | WNOHANG | WNOWAIT);
  return information.si_pid != 0;
}

Result trial(unsigned seed) {
  std::mt19937 random{seed};
  const auto between = [&](int low, int high) { return std::uniform_int_distribution{low, high}(random); };
  const std::string name = "pause/" + std::to_string(getpid()) + "/" + std::to_string(seed);
  const std::string application = "pause" + std::to_string(seed);
  const std::chrono::milliseconds ttl{between(800, 1800)};
  auto *seen = shared<Seen>();
  // Forked while there is no other thread, which might be inside malloc.
  Proxy proxy{std::getenv("PGHOST"), false};
  const pid_t holder = fork();
  if (holder == 0)
    hold(proxy.conninfo(application), name, ttl, *seen);
  proxy.start();

  eventually([&] { return seen->asked != 0 || has_ended(holder); }, 15s);
  ++common->held;
  const auto end = boot_clock::now() + 2500ms;
  std::vector<int> stopped;
  while (boot_clock::now() < end && !seen->ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds{between(0, 400)});
    const std::chrono::milliseconds length{between(1, 1800)};
    const auto kind = static_cast<Kind>(between(0, kinds - 1));
    if (kind == backends_stopped)
      stopped = backends(application);
    if (seen->ended)
      break;
    common->tried[kind] += kind != server_stopped && (kind != backends_stopped || !stopped.empty());
    switch (kind) {
    case holder_stopped:
      kill(holder, SIGSTOP);
      std::this_thread::sleep_for(length);
      kill(holder, SIGCONT);
      break;
    case backends_stopped:
      for (const int pid : stopped)
        kill(pid, SIGSTOP);
      std::this_thread::sleep_for(length);
      for (const int pid : stopped)
        kill(pid, SIGCONT);
      break;
    case stalled:
      proxy.stall(true);
      std::this_thread::sleep_for(length);
      proxy.stall(false);
      break;
    case delayed:
      proxy.delay(length);
      std::this_thread::sleep_for(length);
      proxy.delay(0ms);
      break;
    case cut:
      proxy.cut();
      break;
    case half_closed:
      proxy.half_close();
      break;
    default:
      // The whole server is stopped for everybody at once, by a process of its own.
      break;
    }
  }
  --common->held;
  // The end of all renewals, if the holder has not lost it yet.
  proxy.refuse(true);
  proxy.cut();
  int status = 0;
  if (!eventually([&] { return waitpid(holder, &status, WNOHANG) == holder; }, 20s)) {
    kill(holder, SIGKILL);
    waitpid(holder, &status, 0);
    std::printf("seed %u: the guard was held for ever\n", seed);
    return {true, false};
  }
  Result result{seen->token != 0 && seen->asked > 0, true};
  if (result.tried) {
    const auto last = boot_clock::time_point{std::chrono::nanoseconds{seen->last_held}};
    const auto deadline = server_deadline(name, Token{seen->token});
    // The server counts whole microseconds; the margin of so short a ttl is a quarter of it.
    result.right = last < deadline - ttl / 4 + 1us && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!result.right)
      std::printf(
          "seed %u: ttl %lld us, held %lld us before the server's deadline, status %d\n", seed,
          static_cast<long long>(std::chrono::microseconds{ttl}.count()),
          static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(deadline - last).count()),
          status);
  }
  munmap(seen, sizeof(Seen));
  return result;
}

/// The server's first process, then the others.
std::vector<pid_t> processes_of(pid_t postmaster) {
  std::vector<pid_t> processes{postmaster};
  for (const auto &entry : std::filesystem::directory_iterator{"/proc"}) {
    const std::string name = entry.path().filename();
    std::ifstream stat{entry.path() / "stat"};
    std::string text;
    if (name.find_first_not_of("0123456789") != std::string::npos || !std::getline(stat, text, '\0'))
      continue;
    char state;
    int parent = 0;
    if (std::sscanf(text.c_str() + text.rfind(')') + 1, " %c %d", &state, &parent) == 2 && parent == postmaster)
      processes.push_back(std::stoi(name));
  }
  return processes;
}

/// Stops the whole server now and then, until all is over.
[[noreturn]] void stop_server(pid_t postmaster, unsigned seed, pid_t parent) {
  // An end by a signal would leave the server stopped.
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    signal(number, SIG_IGN);
  std::mt19937 random{seed};
  const auto between = [&](int low, int high) { return std::uniform_int_distribution{low, high}(random); };
  while (!common->over && getppid() == parent) {
    std::this_thread::sleep_for(std::chrono::milliseconds{between(1000, 3000)});
    const int held = common->held;
    // The first of them starts no others once it is stopped.
    kill(postmaster, SIGSTOP);
    const std::vector<pid_t> processes = processes_of(postmaster);
    for (const pid_t process : processes)
      kill(process, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds{between(50, 1500)});
    for (const pid_t process : processes)
      kill(process, SIGCONT);
    common->tried[server_stopped] += static_cast<unsigned>(std::max(held, 0));
  }
  _exit(0);
}

} // namespace
} // namespace gatepost::test

int main(int count, char **arguments) {
  using namespace gatepost::test;
  const unsigned trials = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 300;
  const unsigned seed = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : std::random_device{}() % 1000000;
  prepare();
  common = shared<Common>();
  pid_t postmaster = 0;
  std::ifstream{ask("SHOW data_directory") + "/postmaster.pid"} >> postmaster;
  const pid_t parent = getpid(), stopper = fork();
  if (stopper == 0)
    stop_server(postmaster, seed, parent);
  // Each trial in a process of its own, since one with threads should not fork.
  constexpr unsigned at_once = 16;
  unsigned begun = 0, ended = 0, tried = 0, wrong = 0;
  while (ended < trials) {
    while (begun < trials && begun - ended < at_once) {
      const pid_t process = fork();
      if (process == 0) {
        const Result result = trial(seed + begun);
        std::fflush(stdout);
        _exit((result.tried ? 1 : 0) | (result.right ? 0 : 2));
      }
      ++begun;
    }
    int status = 0;
    if (wait(&status) == stopper)
      return 1;
    ++ended;
    tried += WIFEXITED(status) && (WEXITSTATUS(status) & 1) != 0;
    wrong += !WIFEXITED(status) || (WEXITSTATUS(status) & 2) != 0;
  }
  common->over = true;
  waitpid(stopper, nullptr, 0);
  bool each_kind = true;
  std::printf("%u pauses from seed %u, %u with a guard that was held, %u wrong", trials, seed, tried, wrong);
  for (int kind = 0; kind < kinds; ++kind) {
    std::printf("; %s %u", names[kind], common->tried[kind].load());
    each_kind = each_kind && common->tried[kind] >= trials / 20;
  }
  std::printf("\n");
  // Trials whose fault came before the grant show nothing; they must be few.
  return wrong == 0 && tried * 10 >= trials * 9 && each_kind ? 0 : 1;
}
