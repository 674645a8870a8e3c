// The fake server, as users' tests use it. Needs no server.
#include "server.hpp"

#include <gatepost/fake.hpp>

#include <gtest/gtest.h>

#include <atomic>

namespace gatepost::test {
namespace {

TEST(Fake, ALeaseIsRenewedAsTimeGoesOn) {
  FakeServer server;
  Client client{server.factory(), server.options()};
  Lease lease = client.acquire("x", 30s);
  for (int i = 0; i < 10; ++i) {
    const unsigned before = server.renewals("x");
    server.advance(11s);
    EXPECT_TRUE(eventually([&] { return server.renewals("x") > before; }));
    EXPECT_TRUE(lease.held());
  }
  EXPECT_TRUE(lease.release());
  EXPECT_FALSE(server.is_held("x"));
}

TEST(Fake, LossIsForced) {
  FakeServer server;
  Client client{server.factory(), server.options()};
  std::atomic<int> reason{-1};
  Lease lease = client.acquire("x", 30s, {.on_lost = [&](Loss loss) { reason = static_cast<int>(loss); }});
  server.supersede("x");
  server.advance(11s);
  EXPECT_TRUE(eventually([&] { return reason == static_cast<int>(Loss::superseded); }));
  EXPECT_FALSE(lease.held());
  EXPECT_FALSE(client.try_acquire("x"));
  server.free("x");
  Lease next = client.acquire("x");
  EXPECT_GT(next.token(), lease.token());
  server.take_away("x");
  server.advance(11s);
  EXPECT_TRUE(eventually([&] { return next.loss() == Loss::broken; }));
}

TEST(Fake, WithoutAServerTheDeadlineDecides) {
  FakeServer server;
  ClientOptions options = server.options();
  options.call_timeout = 300ms;
  Client client{server.factory(), options};
  std::atomic<int> warnings{0}, losses{0};
  Lease lease = client.acquire(
      "x", 30s, {.on_lost = [&](Loss) { ++losses; }, .on_warning = [&](std::chrono::nanoseconds) { ++warnings; }});
  server.refuse(true);
  server.advance(25s);
  EXPECT_TRUE(eventually([&] { return warnings == 1; }));
  EXPECT_EQ(lease.state(), State::at_risk);
  server.advance(2s);
  EXPECT_FALSE(lease.held());
  EXPECT_TRUE(eventually([&] { return losses == 1; }));
  EXPECT_EQ(lease.loss(), Loss::expired);
}

TEST(Fake, HasPermitsYieldsAndLocks) {
  FakeServer server;
  Client client{server.factory(), server.options()};
  const Semaphore two{"s", 2};
  auto a = client.try_acquire(two), b = client.try_acquire(two);
  EXPECT_TRUE(a && b);
  EXPECT_FALSE(client.try_acquire(two));
  EXPECT_TRUE(a->release());
  EXPECT_TRUE(client.acquire_for(two, 1s));
  auto lock = client.try_advisory_lock("l");
  EXPECT_TRUE(lock);
  EXPECT_FALSE(client.try_acquire("l"));
  std::atomic<int> asked{0};
  Lease lease = client.acquire("y", 30s, {.on_yield = [&](const std::string &reason) { asked += reason == "please"; }});
  EXPECT_TRUE(client.request_yield("y", "please"));
  server.advance(11s);
  EXPECT_TRUE(eventually([&] { return asked == 1; }));
  EXPECT_THROW(client.with_lock("x", [](Transaction &) {}), error);
}

} // namespace
} // namespace gatepost::test
