// Keeping alive: through broken connections, wrong neighbours, slow answers.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Renewal, KeepsManyWithOneConnection) {
  Client client{direct("many")};
  std::vector<Lease> leases;
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) {
    names.push_back(fresh("many"));
    leases.push_back(client.acquire(names.back(), 1s));
  }
  std::this_thread::sleep_for(2500ms);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    EXPECT_TRUE(leases[i].held());
    EXPECT_TRUE(is_held(names[i]));
  }
  // One for calls, one for renewals.
  EXPECT_EQ(backends("many").size(), 2u);
}

TEST(Renewal, OneBrokenConnectionIsNotTheEnd) {
  // C86.
  std::atomic<int> lost{0};
  Client client{direct("broken")};
  const std::string name = fresh("broken");
  Lease lease = client.acquire(name, 3s, {.on_lost = [&](Loss) { ++lost; }});
  ASSERT_TRUE(eventually([] { return backends("broken").size() == 2; }));
  EXPECT_GT(terminate("broken"), 0);
  std::this_thread::sleep_for(4s);
  EXPECT_TRUE(lease.held());
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
  std::optional<Lease> lease = client.try_acquire(name, 1s);
  proxy.refuse(true);
  proxy.cut();
  EXPECT_TRUE(eventually([&] { return lease->state() == State::lost; }));
  EXPECT_EQ(lease->loss(), Loss::expired);
  proxy.refuse(false);
  lease.reset();
  lease.emplace(client.acquire(name, 1s));
  const Lease second = client.acquire(other, 1s);
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(second.held());
  EXPECT_EQ(take(name), 0);
}

TEST(Renewal, ABadNameTakesNoOtherAlong) {
  Client client{direct("bad")};
  const std::string good = fresh("good"), bad = fresh("bad"), also = fresh("also");
  Lease one = client.acquire(good, 1s), two = client.acquire(bad, 1s), three = client.acquire(also, 1s);
  ask("SELECT gatepost.lease_break($1)", {bad});
  EXPECT_TRUE(eventually([&] { return two.state() == State::lost; }));
  EXPECT_EQ(two.loss(), Loss::broken);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(one.held());
  EXPECT_TRUE(three.held());
}

TEST(Renewal, AnErrorOfOneIsItsOwn) {
  // An older server may refuse a whole statement for one name: the others are asked for without it.
  std::atomic<int> statements{0};
  const std::string bad = fresh("refused"), good = fresh("fine");
  struct Refusing final : Connection {
    Refusing(std::unique_ptr<Connection> inner_, std::string bad_, std::atomic<int> &count_)
        : inner{std::move(inner_)}, bad{std::move(bad_)}, count{count_} {}
    Rows execute(const std::string &sql, std::span<const Value> parameters) override {
      if (sql.find("lease_renew_many") != std::string::npos) {
        ++count;
        if (parameters[0]->find(bad) != std::string::npos)
          throw error{"not for you", "42501"};
      }
      return inner->execute(sql, parameters);
    }
    void listen(const std::string &channel) override { inner->listen(channel); }
    void unlisten(const std::string &channel) override { inner->unlisten(channel); }
    std::vector<std::string> notifications() override { return inner->notifications(); }
    int socket() const noexcept override { return inner->socket(); }
    int backend_pid() const noexcept override { return inner->backend_pid(); }
    void abort() noexcept override { inner->abort(); }
    std::unique_ptr<Connection> inner;
    std::string bad;
    std::atomic<int> &count;
  };
  Client client{[&] { return std::make_unique<Refusing>(open_connection(direct("refusing")), bad, statements); }};
  Lease one = client.acquire(good, 1s), two = client.acquire(bad, 1s), three = client.acquire(good + "2", 1s);
  EXPECT_TRUE(eventually([&] { return two.state() == State::lost; }));
  EXPECT_EQ(two.loss(), Loss::expired);
  EXPECT_TRUE(one.held());
  EXPECT_TRUE(three.held());
  EXPECT_GT(statements, 2);
}

TEST(Renewal, ASlowAnswerLengthensNothing) {
  // C81.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("slow")};
  const std::string name = fresh("slow");
  Lease lease = client.acquire(name, 3s);
  proxy.delay(400ms);
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(100ms);
    const auto own = lease.deadline();
    EXPECT_LE(own + 750ms, server_deadline(name, lease.token()));
  }
  EXPECT_TRUE(lease.held());
}

TEST(Renewal, WarnsBeforeTheEnd) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("warn")};
  std::atomic<int> warnings{0}, losses{0};
  std::atomic<std::int64_t> left{-1};
  Lease lease = client.acquire(fresh("warn"), 3s,
                               {.on_lost = [&](Loss) { ++losses; },
                                .on_warning =
                                    [&](std::chrono::nanoseconds time) {
                                      left = time.count();
                                      ++warnings;
                                    }});
  proxy.stall(true);
  EXPECT_TRUE(eventually([&] { return warnings == 1; }));
  EXPECT_GT(left, 0);
  EXPECT_EQ(lease.state(), State::at_risk);
  EXPECT_EQ(losses, 0);
  proxy.stall(false);
  EXPECT_TRUE(eventually([&] { return lease.state() == State::held; }));
  std::this_thread::sleep_for(2s);
  EXPECT_TRUE(lease.held());
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(losses, 0);
}

TEST(Renewal, HalfClosedConnectionIsLeft) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("half")};
  Lease lease = client.acquire(fresh("half"), 3s);
  ASSERT_TRUE(eventually([] { return backends("half").size() == 2; }));
  proxy.half_close();
  std::this_thread::sleep_for(5s);
  EXPECT_TRUE(lease.held());
}

TEST(Renewal, EndsWithTheRelease) {
  Log log;
  std::atomic<int> renewals{0};
  Client client{direct("ends"),
                {.log = log.hook(), .metric = [&](std::string_view metric, double value, std::string_view) {
                   if (metric == "gatepost.client.renewals")
                     renewals += static_cast<int>(value);
                 }}};
  {
    const Lease lease = client.acquire(fresh("ends"), 300ms);
    EXPECT_TRUE(eventually([&] { return renewals > 2; }));
  }
  const int then = renewals;
  std::this_thread::sleep_for(700ms);
  EXPECT_EQ(renewals, then);
}

TEST(Renewal, MaximumHoldTime) {
  // C88 (2) and (3): a guard that somebody forgot.
  Client client{direct("limit")};
  const std::string name = fresh("limit");
  std::atomic<int> reason{-1};
  auto *forgotten = new Lease{
      client.acquire(name, 1s, {.on_lost = [&](Loss loss) { reason = static_cast<int>(loss); }, .max_hold = 1500ms})};
  EXPECT_TRUE(eventually([&] { return reason == static_cast<int>(Loss::hold_limit); }));
  EXPECT_FALSE(forgotten->held());
  EXPECT_TRUE(eventually([&] { return !is_held(name); }, 2s));
  delete forgotten;
}

TEST(Renewal, TransientRowOfAnother) {
  // The row is in flight for a while: a retry, not a loss.
  Client client{direct("flight")};
  const std::string name = fresh("flight");
  Lease lease = client.acquire(name, 3s);
  const auto other = open_connection(direct("other"));
  other->execute("BEGIN");
  const std::vector<Value> values{name, to_string(lease.token())};
  other->execute("SELECT gatepost.lease_renew($1, $2::bigint)", values);
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(lease.held());
  other->execute("COMMIT");
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(lease.held());
}

} // namespace
} // namespace gatepost::test
