// Taking, holding and giving back.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

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
  Client client{direct("deadline")};
  const std::string name = fresh("deadline");
  for (const auto ttl : {1s, 3s, 30s}) {
    auto lease = client.try_acquire(name, ttl);
    ASSERT_TRUE(lease);
    const auto server = server_deadline(name, lease->token());
    const auto margin = std::min({std::max<std::chrono::nanoseconds>(1s, ttl / 10), std::chrono::nanoseconds{ttl} / 4});
    EXPECT_LE(lease->deadline() + margin, server);
    EXPECT_GT(lease->deadline() + margin + 500ms, server);
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
  ask("SELECT gatepost.lease_break($1)", {name});
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
  Lease lease = client.acquire(name, 5s);
  const Token token = lease.detach();
  EXPECT_EQ(lease.state(), State::released);
  EXPECT_TRUE(is_held(name));
  EXPECT_THROW((void)lease.detach(), lease_lost);
  Lease adopted = other.adopt(name, token, 30s);
  EXPECT_EQ(adopted.token(), token);
  EXPECT_GT(adopted.deadline(), boot_clock::now() + 20s);
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
  EXPECT_THROW(client.with_lease(name, [&](Lease &) { ask("SELECT gatepost.lease_break($1)", {name}); }), lease_lost);
}

TEST(Permit, IsTakenRenewedAndGivenBack) {
  Client client{direct("permit")};
  const Semaphore two{fresh("permit"), 2};
  std::optional<Permit> a = client.try_acquire(two, 1s), b = client.try_acquire(two, 1s);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->token(), b->token());
  EXPECT_FALSE(client.try_acquire(two, 1s));
  std::this_thread::sleep_for(2500ms);
  EXPECT_TRUE(a->held());
  EXPECT_TRUE(b->held());
  EXPECT_FALSE(client.acquire_for(two, 300ms, 1s));
  EXPECT_TRUE(a->release());
  EXPECT_TRUE(client.acquire_for(two, 5s, 1s));
  EXPECT_FALSE(client.try_acquire(Semaphore{two.name, 2, 2}));
  EXPECT_TRUE(b->release());
  EXPECT_TRUE(client.try_acquire(Semaphore{two.name, 2, 2}));
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
