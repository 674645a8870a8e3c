// What time is: steps of the wall clock, computers that are minutes apart, suspends; and threads that are not to be
// had.
#include "faults.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::test {
namespace {

class Clocks : public testing::Test {
protected:
  // Tests that come after it compare their clock with the server's.
  void TearDown() override {
    step_wall_clock(0s);
    forget_suspends();
  }
};

TEST_F(Clocks, StepsOfTheWallClockMoveNothing) {
  for (const auto step : {-1h, 1h}) {
    Client client{direct("step")};
    std::atomic<int> told{0};
    const std::string name = fresh("step");
    Lease lease = client.acquire(
        name, lasting, {.on_lost = [&](Loss) { ++told; }, .on_warning = [&](std::chrono::nanoseconds) { ++told; }});
    step_wall_clock(step);
    const auto seen = std::chrono::system_clock::now();
    step_wall_clock(0s);
    ASSERT_GT(std::chrono::abs(seen - std::chrono::system_clock::now()), 59min);
    step_wall_clock(step);
    EXPECT_TRUE(is_renewed(lease));
    EXPECT_EQ(told, 0);
    const auto ahead = lease.deadline() - boot_clock::now();
    EXPECT_GT(ahead, 0s);
    EXPECT_LT(ahead, lasting);
    EXPECT_LT(lease.deadline(), server_deadline(name, lease.token()));
    EXPECT_FALSE(client.acquire_for(name, 300ms, lasting));
  }
}

TEST_F(Clocks, ASuspendEndsALease) {
  // The clock that condition variables sleep on stands still meanwhile, so nobody is woken by it.
  Client client{direct("suspend")};
  std::atomic<int> reason{-1};
  Lease lease = client.acquire(fresh("suspend"), 1h, {.on_lost = [&](Loss loss) { reason = static_cast<int>(loss); }});
  const std::stop_token stop = lease.stop_token();
  suspend(59min);
  EXPECT_FALSE(lease.held());
  EXPECT_EQ(lease.loss(), Loss::expired);
  EXPECT_TRUE(eventually([&] { return stop.stop_requested() && reason == static_cast<int>(Loss::expired); }));
  EXPECT_THROW(lease.require(), lease_lost);
}

/// What two processes write down of one name.
struct Rounds {
  struct Round {
    std::int64_t from, to, token;
  };
  std::atomic<int> count{0};
  std::atomic<std::int64_t> longest_wait{0};
  Round round[400];
};

[[noreturn]] void take_turns(const std::string &name, std::chrono::seconds off, int count, Rounds &rounds) {
  step_wall_clock(off);
  try {
    Client client{direct("apart")};
    for (int i = 0; i < count; ++i) {
      const auto asked = boot_clock::now();
      std::optional<Lease> lease = client.acquire_for(name, 60s, 800ms);
      const auto from = boot_clock::now();
      if (!lease)
        _exit(2);
      std::this_thread::sleep_for(2ms);
      const auto to = boot_clock::now();
      // A round whose holder was late by himself shows nothing.
      if (lease->held())
        rounds.round[rounds.count++] = {from.time_since_epoch().count(), to.time_since_epoch().count(),
                                        lease->token().value()};
      const std::int64_t wait = (from - asked).count();
      for (std::int64_t longest = rounds.longest_wait; wait > longest;)
        rounds.longest_wait.compare_exchange_weak(longest, wait);
      // Each tenth dies as a holder: nothing is given back.
      if (i % 10 == 9)
        try {
          (void)lease->detach();
        } catch (const lease_lost &) {
        }
    }
    _exit(0);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
}

TEST_F(Clocks, ComputersMayBeMinutesApart) {
  // C21: only lengths of time go from clients to the server.
  const std::string name = fresh("apart");
  void *memory = mmap(nullptr, sizeof(Rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto *rounds = new (memory) Rounds;
  std::vector<pid_t> processes;
  for (const std::chrono::seconds off : {180s, -180s}) {
    processes.push_back(fork());
    if (processes.back() == 0)
      take_turns(name, off, 40, *rounds);
  }
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::sort(rounds->round, rounds->round + rounds->count,
            [](const auto &one, const auto &other) { return one.from < other.from; });
  EXPECT_GT(rounds->count, 60);
  for (int i = 1; i < rounds->count; ++i) {
    EXPECT_LE(rounds->round[i - 1].to, rounds->round[i].from) << "two holders at once";
    EXPECT_LT(rounds->round[i - 1].token, rounds->round[i].token);
  }
  // After a dead holder about its ttl, and not minutes.
  EXPECT_LT(std::chrono::nanoseconds{rounds->longest_wait}, 30s);
  munmap(memory, sizeof(Rounds));
}

class Exhausted : public testing::Test {
protected:
  void TearDown() override { allow_threads(-1); }
};

TEST_F(Exhausted, WithoutAThreadForCallbacksTheyAreCalledAllTheSame) {
  Client client{direct("nothread")};
  const std::string name = fresh("nothread");
  std::atomic<bool> lost{false};
  const Lease lease = client.acquire(name, 2s, {.on_lost = [&](Loss) { lost = true; }});
  allow_threads(0);
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return lost.load(); }));
  allow_threads(-1);
}

TEST_F(Exhausted, WithoutThreadsThereIsNoClient) {
  for (const int available : {0, 1}) {
    allow_threads(available);
    try {
      Client client{direct("none")};
      FAIL();
    } catch (const unavailable &refused) {
      EXPECT_STREQ(refused.sqlstate(), "53000");
    }
    // A thread that has been joined is listed a moment longer.
    EXPECT_TRUE(eventually([] { return library_threads() == 0; }));
  }
  allow_threads(-1);
  Client client{direct("some")};
  EXPECT_TRUE(client.try_acquire(fresh("some")));
}

TEST_F(Exhausted, AWaiterWithoutAListenerLooksAgain) {
  Log log;
  Client client{direct("deaf"), {.log = log.hook()}};
  const std::string name = fresh("deaf");
  const std::int64_t token = take(name);
  std::optional<Token> granted;
  allow_threads(1);
  std::thread waiter{[&] { granted = client.acquire(name).token(); }};
  EXPECT_TRUE(eventually([&] { return log.has("waiting is by looking again"); }));
  EXPECT_EQ(client.notifications_arrive(), std::nullopt);
  give(name, token);
  waiter.join();
  EXPECT_TRUE(granted);
}

TEST_F(Exhausted, WithoutAThreadThereIsNoElection) {
  Client client{direct("unelected")};
  const std::string name = fresh("unelected");
  allow_threads(0);
  EXPECT_THROW((LeaderElection{client, name, [](const Lease &, std::stop_token) {}}), unavailable);
  EXPECT_FALSE(is_held(name));
}

} // namespace
} // namespace gatepost::test
