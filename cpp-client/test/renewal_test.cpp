// Keeping alive: through broken connections, wrong neighbours, slow answers.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gatepost/fake.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Renewal, KeepsManyWithOneConnection) {
  Client client{direct("many")};
  std::vector<Lease> leases;
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) {
    names.push_back(fresh("many"));
    leases.push_back(client.acquire(names.back(), lasting));
  }
  EXPECT_TRUE(are_renewed(leases));
  for (const std::string &name : names)
    EXPECT_TRUE(is_held(name));
  // One for calls, one for renewals.
  EXPECT_EQ(backends("many").size(), 2u);
}

TEST(Renewal, OneBrokenConnectionIsNotTheEnd) {
  // C86.
  std::atomic<int> lost{0};
  Client client{direct("broken")};
  const std::string name = fresh("broken");
  Lease lease = client.acquire(name, lasting, {.on_lost = [&](Loss) { ++lost; }});
  ASSERT_TRUE(eventually([] { return backends("broken").size() == 2; }));
  EXPECT_GT(terminate("broken"), 0);
  // One may have been on its way already.
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_EQ(lost, 0);
  EXPECT_GT(terminate("broken"), 0);
  EXPECT_TRUE(lease.release());
  EXPECT_GT(take(name), 0);
}

TEST(Renewal, GoesOnAfterALoss) {
  // C84.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("again")};
  const std::string name = fresh("again"), other = fresh("again");
  std::optional<Lease> lease{client.acquire(name, 1s)};
  proxy.refuse(true);
  proxy.cut();
  EXPECT_TRUE(eventually([&] { return lease->state() == State::lost; }));
  EXPECT_EQ(lease->loss(), Loss::expired);
  proxy.refuse(false);
  lease.reset();
  lease.emplace(client.acquire(name, lasting));
  const Lease second = client.acquire(other, lasting);
  EXPECT_TRUE(is_renewed(*lease));
  EXPECT_TRUE(is_renewed(second));
  EXPECT_EQ(take(name), 0);
}

TEST(Renewal, ABadNameTakesNoOtherAlong) {
  Client client{direct("bad")};
  const std::string good = fresh("good"), bad = fresh("bad"), also = fresh("also");
  Lease one = client.acquire(good, lasting), two = client.acquire(bad, lasting), three = client.acquire(also, lasting);
  break_lease(bad);
  EXPECT_TRUE(eventually([&] { return two.state() == State::lost; }));
  EXPECT_EQ(two.loss(), Loss::broken);
  EXPECT_TRUE(is_renewed(one));
  EXPECT_TRUE(is_renewed(three));
}

TEST(Renewal, AnErrorOfOneIsItsOwn) {
  // An older server may refuse a whole statement for one name: the others are asked for without it.
  std::atomic<int> all_in_one{0}, others_failed{0};
  const std::string good = fresh("fine"), bad = fresh("refused"), also = fresh("fine");
  const auto refuse = [&](const std::string &sql, std::span<const Value> parameters) {
    if (sql.find("lease_renew_many") == std::string::npos)
      return;
    const auto has = [&](const std::string &name) {
      return parameters[0]->find('"' + name + '"') != std::string::npos;
    };
    all_in_one += has(good) && has(bad) && has(also);
    if (has(bad))
      throw error{"not for you", "42501"};
  };
  // The connection for renewals, the second, comes when all are due.
  std::atomic<int> opened{0};
  std::promise<void> due;
  const auto factory = [&, open = due.get_future().share()] {
    if (++opened == 2)
      open.wait();
    return std::make_unique<Wrapped>(open_connection(direct("refusing")), refuse);
  };
  Client client{factory, {.metric = [&](std::string_view metric, double value, std::string_view lease) {
                  if (metric == "gatepost.client.renew.failures")
                    others_failed += value != 1 || lease != bad;
                }}};
  Lease one = client.acquire(good, lasting), two = client.acquire(bad, lasting), three = client.acquire(also, lasting);
  const auto all_are_due = boot_clock::now() + lasting / 3;
  EXPECT_TRUE(eventually([&] { return opened == 2 && boot_clock::now() > all_are_due; }));
  due.set_value();
  EXPECT_TRUE(is_renewed(one));
  EXPECT_TRUE(is_renewed(three));
  EXPECT_GE(all_in_one, 1);
  EXPECT_TRUE(eventually([&] { return two.state() == State::lost; }));
  EXPECT_EQ(two.loss(), Loss::expired);
  EXPECT_TRUE(one.held());
  EXPECT_TRUE(three.held());
  EXPECT_EQ(others_failed, 0);
}

TEST(Renewal, ASlowAnswerLengthensNothing) {
  // C81.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("slow")};
  const std::string name = fresh("slow");
  Lease lease = client.acquire(name, lasting);
  proxy.delay(400ms);
  for (int renewals = 0; renewals < 2; ++renewals) {
    EXPECT_TRUE(is_renewed(lease));
    const auto own = lease.deadline();
    EXPECT_LE(own + 1s, server_deadline(name, lease.token()));
  }
}

TEST(Renewal, WarnsBeforeTheEnd) {
  Proxy proxy{std::getenv("PGHOST")};
  // Renewed after 20 minutes, warned after 40, lost after 50.
  const auto clock = std::make_shared<AheadClock>();
  Client client{proxy.conninfo("warn"), {.margin = 10min, .clock = clock}};
  std::atomic<int> warnings{0}, losses{0};
  std::atomic<std::int64_t> left{-1};
  Lease lease = client.acquire(fresh("warn"), 1h,
                               {.on_lost = [&](Loss) { ++losses; },
                                .on_warning =
                                    [&](std::chrono::nanoseconds time) {
                                      left = time.count();
                                      ++warnings;
                                    }});
  proxy.stall(true);
  clock->advance(41min);
  EXPECT_TRUE(eventually([&] { return warnings == 1; }));
  EXPECT_GT(left, 0);
  EXPECT_EQ(lease.state(), State::at_risk);
  EXPECT_EQ(losses, 0);
  proxy.stall(false);
  EXPECT_TRUE(eventually([&] { return lease.state() == State::held; }));
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(losses, 0);
}

TEST(Renewal, HalfClosedConnectionIsLeft) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("half"), {.call_timeout = 1s}};
  Lease lease = client.acquire(fresh("half"), lasting);
  ASSERT_TRUE(eventually([] { return backends("half").size() == 2; }));
  proxy.half_close();
  // One may have been on its way already.
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_TRUE(is_renewed(lease));
}

TEST(Renewal, ATokenThatTwoGuardsHaveIsLostToBoth) {
  // Adopted beside its guard, both due at once.
  FakeServer server;
  Client client{server.factory(), server.options()};
  const Lease lease = client.acquire("both", 30s), beside = client.adopt("both", lease.token());
  server.supersede("both");
  server.advance(11s);
  EXPECT_TRUE(eventually([&] { return lease.loss() == Loss::superseded; }));
  EXPECT_TRUE(eventually([&] { return beside.loss() == Loss::superseded; }));
}

TEST(Renewal, EndsWithTheRelease) {
  FakeServer server;
  std::atomic<int> renewals{0};
  ClientOptions options = server.options();
  options.metric = [&](std::string_view metric, double value, std::string_view) {
    if (metric == "gatepost.client.renewals")
      renewals += static_cast<int>(value);
  };
  Client client{server.factory(), options};
  Lease ends = client.acquire("ends", 30s), stays = client.acquire("stays", 30s);
  server.advance(11s);
  EXPECT_TRUE(is_renewed(ends));
  EXPECT_TRUE(eventually([&] { return renewals == 2; }));
  EXPECT_TRUE(ends.release());
  server.advance(11s);
  EXPECT_TRUE(eventually([&] { return renewals > 2; }));
  EXPECT_EQ(renewals, 3);
}

/// Holds back the first renewal, and notes in which order things happen.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false, open = false;
  std::vector<std::string> order;

  /// That waits for its answer however long it takes.
  struct Patient final : Wrapped {
    using Wrapped::Wrapped;
    void abort() noexcept override {}
  };

  ConnectionFactory factory(const char *application) {
    return [this, application] {
      return std::make_unique<Patient>(open_connection(direct(application)),
                                       [this](const std::string &sql, std::span<const Value>) {
                                         std::unique_lock lock{mutex};
                                         if (sql.find("lease_release") != std::string::npos)
                                           order.push_back("release");
                                         if (sql.find("lease_renew_many") == std::string::npos || reached)
                                           return;
                                         reached = true;
                                         changed.notify_all();
                                         changed.wait(lock, [this] { return open; });
                                         order.push_back("renewal");
                                       });
    };
  }
  bool is_reached() {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, patience(), [this] { return reached; });
  }
  void let_pass() {
    const std::lock_guard lock{mutex};
    open = true;
    changed.notify_all();
  }
};

TEST(Renewal, IsWaitedForBeforeTheRelease) {
  // A renewal that is on its way when the guard ends comes first.
  Gate gate;
  Client client{gate.factory("awaited")};
  const std::string name = fresh("awaited");
  std::optional<Lease> lease{client.acquire(name, lasting)};
  ASSERT_TRUE(gate.is_reached());
  auto ending = std::async(std::launch::async, [&] { lease.reset(); });
  EXPECT_EQ(ending.wait_for(300ms), std::future_status::timeout);
  gate.let_pass();
  ending.get();
  EXPECT_EQ(gate.order, (std::vector<std::string>{"renewal", "release"}));
  EXPECT_FALSE(is_held(name));
}

TEST(Renewal, ALateAnswerBringsNothingBack) {
  // The own deadline passes while a renewal is on its way, which the server then confirms.
  Gate gate;
  std::atomic<bool> answered{false};
  const auto clock = std::make_shared<AheadClock>();
  Client client{gate.factory("toolate"),
                {.metric = [&](std::string_view metric, double,
                               std::string_view) { answered = answered || metric == "gatepost.client.renewals"; },
                 .clock = clock}};
  const std::string name = fresh("toolate");
  Lease lease = client.acquire(name, 1h);
  clock->advance(21min);
  ASSERT_TRUE(gate.is_reached());
  clock->advance(39min);
  EXPECT_TRUE(eventually([&] { return !lease.held(); }));
  const auto before = server_deadline(name, lease.token());
  gate.let_pass();
  EXPECT_TRUE(eventually([&] { return answered.load(); }));
  EXPECT_GT(server_deadline(name, lease.token()), before);
  EXPECT_FALSE(eventually([&] { return lease.held(); }, 1s));
  EXPECT_EQ(lease.loss(), Loss::expired);
}

TEST(Renewal, MaximumHoldTime) {
  // C88 (2) and (3): a guard that somebody forgot.
  Client client{direct("limit")};
  const std::string name = fresh("limit");
  std::atomic<int> reason{-1};
  auto *forgotten = new Lease{
      client.acquire(name, 6s, {.on_lost = [&](Loss loss) { reason = static_cast<int>(loss); }, .max_hold = 3s})};
  EXPECT_TRUE(eventually([&] { return reason == static_cast<int>(Loss::hold_limit); }));
  EXPECT_FALSE(forgotten->held());
  EXPECT_TRUE(eventually([&] { return !is_held(name); }));
  delete forgotten;
}

TEST(Renewal, TransientRowOfAnother) {
  // The row is in flight for a while: a retry, not a loss.
  std::atomic<int> asked{0};
  Client client{[&] {
    return std::make_unique<Wrapped>(open_connection(direct("flight")), [&](const std::string &sql, auto) {
      asked += sql.find("lease_renew_many") != std::string::npos;
    });
  }};
  const std::string name = fresh("flight");
  Lease lease = client.acquire(name, lasting);
  const auto other = open_connection(direct("other"));
  other->execute("BEGIN");
  const std::vector<Value> values{name, to_string(lease.token())};
  other->execute("SELECT gatepost.lease_renew($1, $2::bigint)", values);
  EXPECT_TRUE(eventually([&] { return asked > 1; }));
  EXPECT_TRUE(lease.held());
  other->execute("COMMIT");
  EXPECT_TRUE(is_renewed(lease));
}

/// Notes which threads sleep, and how often.
class Naps final : public TimeSource {
public:
  explicit Naps(std::chrono::seconds longest) : longest_{longest} {}
  boot_clock::time_point now() const noexcept override { return boot_clock::now(); }
  std::chrono::nanoseconds nap() const noexcept override {
    const std::lock_guard lock{mutex_};
    ++count_;
    threads_.insert(std::this_thread::get_id());
    return longest_;
  }
  /// The renewing and the watching one.
  bool both_sleep() const {
    const std::lock_guard lock{mutex_};
    return threads_.size() == 2;
  }
  int count() const {
    const std::lock_guard lock{mutex_};
    return count_;
  }

private:
  const std::chrono::seconds longest_;
  mutable std::mutex mutex_;
  mutable int count_ = 0;
  mutable std::set<std::thread::id> threads_;
};

TEST(Renewal, ANearerOneIsNotOverslept) {
  // The renewing thread sleeps until later: without anything to renew, and with another grant's renewal ahead.
  for (const bool another : {false, true}) {
    const auto clock = std::make_shared<Naps>(3600s);
    Client client{direct("nearer"), {.clock = clock}};
    EXPECT_TRUE(eventually([&] { return clock->both_sleep(); }));
    std::optional<Lease> later;
    if (another)
      later.emplace(client.acquire(fresh("nearer"), 1h));
    const Lease nearer = client.acquire(fresh("nearer"), lasting);
    EXPECT_TRUE(is_renewed(nearer));
  }
}

TEST(Renewal, GrantsThatComeAndGoWakeNobody) {
  constexpr auto longest = 4s;
  const auto clock = std::make_shared<Naps>(longest);
  Client client{direct("wakes"), {.clock = clock}};
  EXPECT_TRUE(eventually([&] { return clock->both_sleep(); }));
  const auto begun = boot_clock::now();
  const std::string stem = fresh("wakes");
  for (int i = 0; i < 300; ++i)
    (void)client.acquire(stem + std::to_string(i % 10), 1h);
  // Each of the two threads looks by itself now and then.
  EXPECT_LE(clock->count(), 4 + 2 * ((boot_clock::now() - begun) / longest));
}

TEST(Renewal, TheHoldTimeEndsBeforeTheNextRenewal) {
  FakeServer server;
  Client client{server.factory(), server.options()};
  const Lease lease = client.acquire("x", 30s, {.max_hold = 5s});
  server.advance(6s);
  EXPECT_TRUE(eventually([&] { return lease.loss() == Loss::hold_limit; }));
  EXPECT_EQ(server.renewals("x"), 0u);
}

/// Has an answer to renewals that cannot be read.
struct Garbled : Wrapped {
  Garbled(std::unique_ptr<Connection> inner_, std::atomic<int> &asked_) : Wrapped{std::move(inner_)}, asked{asked_} {}
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    if (sql.find("lease_renew_many") == std::string::npos)
      return Wrapped::execute(sql, parameters);
    ++asked;
    return {{{"x", "no number", "lost", "broken"}}, false};
  }
  std::atomic<int> &asked;
};

TEST(Renewal, AnAnswerThatCannotBeReadRenewsNothing) {
  FakeServer server;
  std::atomic<int> asked{0};
  Client client{[&] { return std::make_unique<Garbled>(server.factory()(), asked); }, server.options()};
  const Lease lease = client.acquire("x", 30s);
  const auto deadline = lease.deadline();
  server.advance(11s);
  ASSERT_TRUE(eventually([&] { return asked > 0; }));
  // One that has failed is tried again, and one that has not only after 10 s.
  server.advance(2s);
  EXPECT_TRUE(eventually([&] { return asked > 1; }));
  EXPECT_EQ(lease.deadline(), deadline);
}

} // namespace
} // namespace gatepost::test
