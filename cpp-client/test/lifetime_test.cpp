// Who dies before whom; forks; a server that is away at the end.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <sys/resource.h>
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
    Lease lease = client->acquire(name, 1s);
    client.reset();
    std::this_thread::sleep_for(2s);
    EXPECT_TRUE(lease.held());
    EXPECT_TRUE(is_held(name));
  }
  EXPECT_FALSE(is_held(name));
  EXPECT_EQ(threads(), before);
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
  ask("SELECT gatepost.lease_break($1)", {name});
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
  ask("SELECT gatepost.lease_break($1)", {name});
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  lease.reset();
  EXPECT_TRUE(ended);
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
  std::optional<Lease> lease{client.acquire(name, 2s)};
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
    right = right && own.try_acquire(name + "/child", 1s).has_value();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(lease->release());
}

TEST(Lifetime, ExitWithStaticGuards) {
  // C88 (4).
  const std::string name = fresh("static");
  const pid_t child = fork();
  if (child == 0) {
    static Client client{direct("static")};
    static Lease lease = client.acquire(name, 30s);
    std::exit(lease.held() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_held(name));
}

TEST(Lifetime, WithoutThreadsThereIsNoClient) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root has as many threads as it likes";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{1, 1};
    setrlimit(RLIMIT_NPROC, &none);
    try {
      Client client{direct("none")};
      _exit(1);
    } catch (const unavailable &) {
      _exit(0);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Lifetime, AReadOnlyServerIsLeft) {
  // C50: the primary has become a standby, and says 25006 to whatever changes.
  std::atomic<int> opened{0};
  struct Demoted final : Connection {
    explicit Demoted(bool primary_) : inner{open_connection(direct("demoted"))}, primary{primary_} {}
    Rows execute(const std::string &sql, std::span<const Value> parameters) override {
      if (!primary)
        throw_for("25006", "cannot execute in a read-only transaction");
      return inner->execute(sql, parameters);
    }
    void listen(const std::string &) override {}
    void unlisten(const std::string &) override {}
    std::vector<std::string> notifications() override { return {}; }
    int socket() const noexcept override { return -1; }
    int backend_pid() const noexcept override { return inner->backend_pid(); }
    void abort() noexcept override { inner->abort(); }
    std::unique_ptr<Connection> inner;
    bool primary;
  };
  Client client{[&] { return std::make_unique<Demoted>(++opened > 2); }};
  auto lease = client.try_acquire(fresh("demoted"), 30s);
  EXPECT_TRUE(lease);
  EXPECT_EQ(opened, 3);
}

} // namespace
} // namespace gatepost::test
