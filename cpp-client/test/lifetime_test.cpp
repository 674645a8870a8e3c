// Who dies before whom; forks; a server that is away at the end.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::test {
namespace {

std::size_t threads() {
  std::size_t count = 0;
  for (const auto &task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    static_cast<void>(task);
    ++count;
  }
  return count;
}

TEST(Lifetime, AClientMayEndBeforeItsGuards) {
  const std::size_t before = threads();
  const std::string name = fresh("orphan");
  {
    std::optional<Client> client{std::in_place, direct("orphan")};
    Lease lease = client->acquire(name, lasting);
    client.reset();
    EXPECT_TRUE(is_renewed(lease));
    EXPECT_TRUE(is_held(name));
  }
  EXPECT_FALSE(is_held(name));
  // A thread that has been joined is listed a moment longer.
  EXPECT_TRUE(eventually([&] { return threads() == before; }));
}

/// What has been made with a client, which then moves away, or ends.
template <typename Made> void outlives_its_client(bool moved, Made &&made) {
  std::optional<Client> client{std::in_place, direct("outlived")}, other;
  auto thing = made(*client);
  if (moved)
    other.emplace(std::move(*client));
  client.reset();
  thing();
}

TEST(Lifetime, AMutexOutlivesItsClient) {
  const std::size_t before = threads();
  for (const Rung rung : {Rung::lease(), Rung::advisory_session()})
    for (const bool moved : {true, false}) {
      const std::string name = fresh("outlived");
      outlives_its_client(moved, [&](Client &client) {
        return [&name, rung, mutex = std::make_shared<Mutex>(client, name)] {
          mutex->change_rung(rung);
          mutex->lock();
          EXPECT_TRUE(mutex->held());
          EXPECT_EQ(take(name), 0);
          mutex->unlock();
          EXPECT_TRUE(mutex->try_lock());
        };
      });
      EXPECT_GT(take(name), 0);
    }
  EXPECT_TRUE(eventually([&] { return threads() == before; }));
}

TEST(Lifetime, ASingletonOutlivesItsClient) {
  for (const bool moved : {true, false})
    outlives_its_client(moved, [&](Client &client) {
      return [singleton = std::make_shared<Singleton>(client, fresh("outlived"))] {
        EXPECT_TRUE(singleton->run([](const Lease &lease, std::stop_token) { EXPECT_TRUE(lease.held()); }));
      };
    });
}

TEST(Lifetime, TheLastGuardMayEndInItsOwnCallback) {
  const std::string name = fresh("own");
  std::atomic<bool> done{false};
  std::optional<Client> client{std::in_place, direct("own")};
  auto lease = std::make_shared<std::optional<Lease>>();
  lease->emplace(client->acquire(name, 1s, {.on_lost = [&, lease](Loss) {
                                   lease->reset();
                                   done = true;
                                 }}));
  client.reset();
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return done.load(); }));
}

TEST(Lifetime, ADestructorWaitsForARunningCallback) {
  Client client{direct("running")};
  const std::string name = fresh("running");
  std::atomic<bool> begun{false}, ended{false};
  std::optional<Lease> lease{client.acquire(name, 1s, {.on_lost = [&](Loss) {
                                              begun = true;
                                              std::this_thread::sleep_for(500ms);
                                              ended = true;
                                            }})};
  break_lease(name);
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  lease.reset();
  EXPECT_TRUE(ended);
}

/// Has no answer to the trial of notifications before it is aborted, or let go.
struct Mute : Wrapped {
  struct Trial {
    std::atomic<bool> begun{false}, let_go{false};
  };
  Mute(std::unique_ptr<Connection> inner, Trial &trial_) : Wrapped{std::move(inner)}, trial{trial_} {}
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    if (sql.find("pg_notify") == std::string::npos)
      return Wrapped::execute(sql, parameters);
    trial.begun = true;
    while (!aborted && !trial.let_go)
      std::this_thread::sleep_for(1ms);
    throw unavailable{"no answer", "08006"};
  }
  void abort() noexcept override {
    aborted = true;
    Wrapped::abort();
  }
  Trial &trial;
  std::atomic<bool> aborted{false};
};

TEST(Lifetime, AClientEndsBesideItsOwnCall) {
  // The one that it makes by itself, while it finds out whether notifications arrive.
  Mute::Trial trial;
  auto client = std::make_unique<Client>(
      ConnectionFactory{[&] { return std::make_unique<Mute>(open_connection(direct("mute")), trial); }},
      ClientOptions{.call_timeout = std::chrono::hours{1}});
  const std::string name = fresh("mute");
  ASSERT_GT(take(name), 0);
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return client->acquire(name, stop.get_token()).has_value(); });
  EXPECT_TRUE(eventually([&] { return trial.begun.load(); }));
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  auto ending = std::async(std::launch::async, [&] { client.reset(); });
  EXPECT_EQ(ending.wait_for(patience()), std::future_status::ready);
  trial.let_go = true;
}

TEST(Lifetime, AClientThatListensEndsBesideAServerThatStandsStill) {
  Proxy proxy{std::getenv("PGHOST")};
  auto client = std::make_unique<Client>(proxy.conninfo("still"));
  const std::string name = fresh("still");
  ASSERT_GT(take(name), 0);
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return client->acquire(name, stop.get_token()).has_value(); });
  EXPECT_TRUE(eventually([&] { return client->notifications_arrive().has_value(); }));
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  proxy.stall(true);
  auto ending = std::async(std::launch::async, [&] { client.reset(); });
  EXPECT_EQ(ending.wait_for(patience()), std::future_status::ready);
  proxy.stall(false);
}

TEST(Lifetime, WithoutAServerDestructorsDoNotThrow) {
  // C92: normally, and by the user's exception, which arrives.
  for (const bool by_exception : {false, true}) {
    Log log;
    Proxy proxy{std::getenv("PGHOST")};
    Client client{proxy.conninfo("gone"), {.call_timeout = 300ms, .log = log.hook()}};
    const auto work = [&] {
      const Lease lease = client.acquire(fresh("gone"), 30s);
      proxy.refuse(true);
      proxy.cut();
      if (by_exception)
        throw std::logic_error{"the user's"};
    };
    if (by_exception)
      EXPECT_THROW(work(), std::logic_error);
    else
      EXPECT_NO_THROW(work());
    EXPECT_TRUE(log.has("could not be released"));
  }
}

TEST(Lifetime, GuardsStayWithTheParent) {
  Client client{direct("fork")};
  const std::string name = fresh("fork");
  std::optional<Lease> lease{client.acquire(name, lasting)};
  const pid_t child = fork();
  if (child == 0) {
    bool right = !lease->held() && lease->loss() == Loss::forked && lease->state() == State::lost;
    try {
      (void)client.try_acquire("x");
      right = false;
    } catch (const unavailable &) {
    }
    right = right && !lease->release();
    lease.reset();
    { const Client dropped{std::move(client)}; }
    // A new one works.
    Client own{direct("child")};
    right = right && own.try_acquire(name + "/child", 30s).has_value();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_renewed(*lease));
  EXPECT_TRUE(lease->release());
}

/// Forks when a thread of the library asks how long to sleep, which it does with its mutex in hand.
class ForkingClock final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override { return boot_clock::now(); }
  std::chrono::nanoseconds nap() const noexcept override {
    if (armed_.exchange(false)) {
      if (fork() == 0) {
        // This thread has all signals blocked.
        sigset_t alarms;
        sigemptyset(&alarms);
        sigaddset(&alarms, SIGALRM);
        pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
        alarm(20);
        in_child_();
      }
      forked_ = true;
    }
    return 10ms;
  }
  void fork_next(std::function<void()> in_child) {
    in_child_ = std::move(in_child);
    armed_ = true;
    EXPECT_TRUE(eventually([&] { return forked_.load(); }));
  }

private:
  mutable std::atomic<bool> armed_{false}, forked_{false};
  std::function<void()> in_child_{};
};

TEST(Lifetime, AChildAsksForNoMutexOfTheParent) {
  const auto clock = std::make_shared<ForkingClock>();
  Client client{direct("forkmutex"), {.clock = clock}};
  const std::string name = fresh("forkmutex");
  std::optional<Lease> lease{client.acquire(name, 30s)};
  clock->fork_next([&] {
    bool right = !lease->release();
    try {
      (void)lease->detach();
      right = false;
    } catch (const lease_lost &lost) {
      right = right && lost.reason() == Loss::forked;
    }
    lease.reset();
    { const Client dropped{std::move(client)}; }
    _exit(right ? 0 : 1);
  });
  int status = -1;
  EXPECT_GT(::wait(&status), 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(lease->release());
}

TEST(Lifetime, ExitWithStaticGuards) {
  // C88 (4).
  const std::string name = fresh("static");
  const pid_t child = fork();
  if (child == 0) {
    leave_leaks();
    static Client client{direct("static")};
    static Lease lease = client.acquire(name, 30s);
    std::exit(lease.held() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_held(name));
}

TEST(Lifetime, LocksAndElectionsStayWithTheParent) {
  Client client{direct("forklock")};
  const std::string name = fresh("forklock"), led = fresh("forklead");
  std::optional<AdvisoryLock> lock{client.advisory_lock(name)};
  std::optional<LeaderElection> election{std::in_place, client, led, [](const Lease &, std::stop_token stop) {
                                           while (!stop.stop_requested())
                                             std::this_thread::sleep_for(5ms);
                                         }};
  ASSERT_TRUE(eventually([&] { return election->is_leader(); }));
  const pid_t child = fork();
  if (child == 0) {
    const bool right = !lock->held() && !election->is_leader();
    lock.reset();
    election.reset();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NO_THROW(lock->check());
  EXPECT_TRUE(lock->held());
  EXPECT_TRUE(election->is_leader());
  EXPECT_EQ(take(name), 0);
  EXPECT_TRUE(lock->release());
}

TEST(Lifetime, WhatIsLeftInAChildIsLetBe) {
  // The last share of a client, which has its threads in the parent, goes with any of these.
  std::optional<Client> client{std::in_place, direct("forkshare")}, other{std::in_place, direct("forkshare")};
  const std::string name = fresh("forkshare");
  std::optional<Mutex> mutex{std::in_place, *other, name};
  std::optional<Singleton> singleton{std::in_place, *client, fresh("forkshare")};
  std::optional<AdvisoryLock> lock{client->advisory_lock(fresh("forkshare"))};
  mutex->lock();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    bool right = !mutex->held();
    mutex->unlock();
    try {
      mutex->lock();
      right = false;
    } catch (const unavailable &) {
    }
    client.reset();
    other.reset();
    lock.reset();
    mutex.reset();
    singleton.reset();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(mutex->held());
  EXPECT_TRUE(is_held(name));
  EXPECT_NO_THROW(lock->check());
}

TEST(Lifetime, AReadOnlyServerIsLeft) {
  // C50: the primary has become a standby, and says 25006 to whatever changes.
  std::atomic<int> opened{0};
  Client client{[&] {
    return std::make_unique<Wrapped>(open_connection(direct("demoted")), [primary = ++opened > 2](auto &&...) {
      if (!primary)
        throw_for("25006", "cannot execute in a read-only transaction");
    });
  }};
  auto lease = client.try_acquire(fresh("demoted"), 30s);
  EXPECT_TRUE(lease);
  EXPECT_EQ(opened, 3);
}

TEST(Lifetime, NothingWaitsInAChild) {
  Client client{direct("forkwait")};
  const std::string name = fresh("forkwait");
  Singleton singleton{client, name};
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    int refused = 0;
    const auto tries = [&](auto &&call) {
      try {
        call();
      } catch (const unavailable &) {
        ++refused;
      }
    };
    tries([&] { (void)client.acquire(name); });
    tries([&] { (void)client.acquire_for(name, 1h); });
    tries([&] { (void)client.acquire(Semaphore{name, 1}); });
    tries([&] { (void)client.advisory_lock(name); });
    tries([&] { (void)singleton.run([](const Lease &, std::stop_token) {}); });
    _exit(refused == 5 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// Forks when its thread reads the time.
class ForkingTime final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override {
    if (std::this_thread::get_id() == thread_ && std::exchange(armed_, false)) {
      if (child_ = fork(); child_ == 0)
        in_child();
    }
    return boot_clock::now();
  }
  std::chrono::nanoseconds nap() const noexcept override { return 1s; }
  void arm() noexcept { armed_ = true; }
  pid_t child() const noexcept { return child_; }
  std::function<void()> in_child{};

private:
  const std::thread::id thread_ = std::this_thread::get_id();
  mutable bool armed_ = false;
  mutable pid_t child_ = -1;
};

TEST(Lifetime, AMutexOfAChildIsAskedWithoutTheParents) {
  const auto clock = std::make_shared<ForkingTime>();
  Client client{direct("forkrung"), {.clock = clock}};
  Mutex mutex{client, fresh("forkrung")};
  mutex.lock();
  // Where the mutex is asked whether it is held, with its own in hand.
  clock->in_child = [&] {
    alarm(10);
    const bool right = !mutex.held() && mutex.lease() == nullptr && mutex.rung() == Rung::lease();
    _exit(right ? 0 : 1);
  };
  clock->arm();
  EXPECT_TRUE(mutex.held());
  ASSERT_GT(clock->child(), 0);
  int status = 0;
  waitpid(clock->child(), &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(mutex.lease(), nullptr);
}

} // namespace
} // namespace gatepost::test
