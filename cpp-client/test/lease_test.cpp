// Taking, holding and giving back.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Lease, IsTakenHeldAndGivenBack) {
  Client client{direct("lease")};
  const std::string name = fresh("plain");
  auto lease = client.try_acquire(name, 30s);
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(lease->state(), State::held);
  EXPECT_EQ(lease->name(), Name{name});
  EXPECT_EQ(ask("SELECT token FROM gatepost.leases WHERE name = $1", {name}), to_string(lease->token()));
  EXPECT_FALSE(client.try_acquire(name, 30s));
  EXPECT_NO_THROW(lease->require(20s));
  EXPECT_THROW(lease->require(31s), lease_lost);
  EXPECT_TRUE(lease->release());
  EXPECT_FALSE(lease->held());
  EXPECT_EQ(lease->state(), State::released);
  EXPECT_THROW(lease->require(), lease_lost);
  EXPECT_FALSE(lease->stop_token().stop_requested());
  EXPECT_FALSE(is_held(name));
  EXPECT_FALSE(lease->release());
}

TEST(Lease, EndsWithItsScope) {
  Client client{direct("scope")};
  const std::string name = fresh("scope");
  {
    const Lease lease = client.acquire(name);
    EXPECT_TRUE(is_held(name));
  }
  EXPECT_FALSE(is_held(name));
  // C88 (1): also by an exception.
  EXPECT_THROW(
      {
        const Lease lease = client.acquire(name);
        throw std::runtime_error{"work"};
      },
      std::runtime_error);
  EXPECT_FALSE(is_held(name));
}

TEST(Lease, DeadlineIsBeforeTheServers) {
  // Nothing is renewed, so both are those of the grant.
  Client client{[] {
    return std::make_unique<Wrapped>(open_connection(direct("deadline")),
                                     [](const std::string &sql, std::span<const Value>) {
                                       if (sql.find("lease_renew_many") != std::string::npos)
                                         throw error{"not now", "55P03"};
                                     });
  }};
  for (const auto ttl : {3s, 9s, 30s}) {
    const std::string name = fresh("deadline");
    const auto before = boot_clock::now();
    const Lease lease = client.acquire(name, ttl);
    const auto own = lease.deadline(), after = boot_clock::now();
    const auto server = server_deadline(name, lease.token());
    const auto margin = std::min({std::max<std::chrono::nanoseconds>(1s, ttl / 10), std::chrono::nanoseconds{ttl} / 4});
    EXPECT_LE(own + margin, server);
    EXPECT_GE(own + margin + (after - before), server);
  }
}

TEST(Lease, MovesTakeItAlong) {
  Client client{direct("moves")};
  const std::string a = fresh("a"), b = fresh("b");
  Lease one = client.acquire(a);
  Lease two = client.acquire(b);
  // C37: the one that was there is given back, by its own token.
  one = std::move(two);
  EXPECT_FALSE(is_held(a));
  EXPECT_TRUE(is_held(b));
  EXPECT_EQ(one.name(), Name{b});
  EXPECT_FALSE(two.held());
  EXPECT_EQ(two.state(), State::released);
  EXPECT_FALSE(two.release());
  Lease &same = one;
  one = std::move(same);
  EXPECT_TRUE(one.held());
  Lease three{std::move(one)};
  EXPECT_TRUE(three.held());
  EXPECT_TRUE(three.release());
}

TEST(Lease, ATokenBelongsToItsGuard) {
  // C37: the first guard's lease is over, the second has the name; the first's end takes nothing from it.
  Client client{direct("shared")};
  const std::string name = fresh("shared");
  std::optional<Lease> first = client.try_acquire(name, 30s);
  break_lease(name);
  std::optional<Lease> second = client.try_acquire(name, 30s);
  ASSERT_TRUE(second);
  EXPECT_FALSE(first->release());
  first.reset();
  EXPECT_TRUE(second->held());
  EXPECT_TRUE(is_held(name));
}

TEST(Lease, DetachAndAdopt) {
  Client client{direct("detach")}, other{direct("adopt")};
  const std::string name = fresh("detach");
  Lease lease = client.acquire(name, 30s);
  const Token token = lease.detach();
  EXPECT_EQ(lease.state(), State::released);
  EXPECT_TRUE(is_held(name));
  EXPECT_THROW((void)lease.detach(), lease_lost);
  Lease adopted = other.adopt(name, token, 1h);
  EXPECT_EQ(adopted.token(), token);
  EXPECT_GT(adopted.deadline(), boot_clock::now() + 30min);
  EXPECT_TRUE(adopted.release());
  try {
    (void)other.adopt(name, token);
    FAIL();
  } catch (const lease_lost &lost) {
    EXPECT_EQ(lost.reason(), Loss::released);
  }
}

TEST(Lease, PrefixIsPartOfTheName) {
  const std::string prefix = fresh("prefix") + ":";
  Client client{direct("prefix"), {.prefix = prefix, .owner = "me"}};
  const Lease lease = client.acquire("x");
  EXPECT_EQ(lease.name(), Name{prefix + "x"});
  EXPECT_EQ(ask("SELECT owner FROM gatepost.leases WHERE name = $1", {prefix + "x"}), "me");
}

TEST(Lease, WithLeaseReturnsWhatWorkReturns) {
  Client client{direct("with")};
  const std::string name = fresh("with");
  EXPECT_EQ(client.with_lease(name, [&](Lease &lease) { return lease.held() && is_held(name); }), true);
  EXPECT_FALSE(is_held(name));
  EXPECT_THROW(client.with_lease(name, [](Lease &) { throw std::logic_error{"work"}; }), std::logic_error);
  EXPECT_FALSE(is_held(name));
  EXPECT_THROW(client.with_lease(name, [&](Lease &) { break_lease(name); }), lease_lost);
}

TEST(Permit, IsTakenRenewedAndGivenBack) {
  Client client{direct("permit")};
  const Semaphore two{fresh("permit"), 2};
  std::optional<Permit> a = client.try_acquire(two, lasting), b = client.try_acquire(two, lasting);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->token(), b->token());
  EXPECT_FALSE(client.try_acquire(two, lasting));
  EXPECT_TRUE(is_renewed(*a));
  EXPECT_TRUE(is_renewed(*b));
  EXPECT_FALSE(client.acquire_for(two, 300ms, lasting));
  EXPECT_TRUE(a->release());
  EXPECT_TRUE(client.acquire_for(two, patience(), lasting));
  EXPECT_FALSE(client.try_acquire(Semaphore{two.name, 2, 2}));
  EXPECT_TRUE(b->release());
  EXPECT_TRUE(client.try_acquire(Semaphore{two.name, 2, 2}));
}

TEST(Permit, IsAdoptedAsWhatItIs) {
  Client client{direct("kinds")};
  const Semaphore two{fresh("kinds"), 2};
  const std::string name = fresh("kinds");
  const Token permit = client.acquire(two, 30s).detach(), lease = client.acquire(name, 30s).detach();
  const auto refused = [](auto &&adopt) {
    try {
      (void)adopt();
      ADD_FAILURE() << "adopted";
    } catch (const error &wrong) {
      EXPECT_STREQ(wrong.sqlstate(), "LG006");
    }
  };
  refused([&] { return client.adopt(two.name, permit); });
  refused([&] { return client.adopt(Semaphore{name, 1}, lease); });
  Permit adopted = client.adopt(two, permit, 1h);
  EXPECT_EQ(adopted.token(), permit);
  EXPECT_GT(adopted.deadline(), boot_clock::now() + 30min);
  EXPECT_TRUE(adopted.release());
  EXPECT_THROW((void)client.adopt(two, permit), lease_lost);
  EXPECT_TRUE(client.adopt(name, lease).release());
}

/// A warning of the server comes with each renewal, while there are to be some.
struct Warning final : Wrapped {
  Warning(std::unique_ptr<Connection> inner_, const std::atomic<bool> &warn_)
      : Wrapped{std::move(inner_)}, warn{warn_} {}
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    Rows rows = Wrapped::execute(sql, parameters);
    rows.warned = rows.warned || (warn && sql.find("lease_renew") != std::string::npos);
    return rows;
  }
  const std::atomic<bool> &warn;
};

TEST(Lease, ARenewalWithAWarningIsNone) {
  std::atomic<bool> warn{true};
  Log log;
  Client client{[&] { return std::make_unique<Warning>(open_connection(direct("warning")), warn); },
                {.call_timeout = 500ms, .log = log.hook()}};
  const std::string name = fresh("warning");
  const Lease lease = client.acquire(name, lasting);
  const auto then = lease.deadline();
  EXPECT_TRUE(eventually([&] { return log.has("came with a warning") || lease.deadline() > then; }));
  EXPECT_EQ(lease.deadline(), then);
  EXPECT_THROW((void)client.adopt(name, lease.token()), unknown_outcome);
  warn = false;
  EXPECT_TRUE(is_renewed(lease));
}

TEST(Lease, AnAnswerThatIsLateLengthensNothing) {
  // C81 on acquire: the grant is over by its guard's own clock when the answer comes.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("late")};
  (void)client.try_acquire(fresh("warm"), 30s);
  const std::string name = fresh("late");
  proxy.delay(1500ms);
  EXPECT_THROW((void)client.try_acquire(name, 1s), unavailable);
  proxy.delay(0ms);
  EXPECT_FALSE(is_held(name));
}

} // namespace
} // namespace gatepost::test
