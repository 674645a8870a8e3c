// Waiting for a name, outside the server.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Wait, EndsWhenTheNameIsFree) {
  Client client{direct("wait")};
  const std::string name = fresh("wait");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token(); });
  EXPECT_EQ(waiting.wait_for(700ms), std::future_status::timeout);
  give(name, token);
  ASSERT_EQ(waiting.wait_for(5s), std::future_status::ready);
  EXPECT_GT(waiting.get().value(), token);
}

TEST(Wait, KeepsNoServerProcessBusy) {
  Client client{direct("pins")};
  const std::string name = fresh("pins");
  const std::int64_t token = take(name);
  std::vector<std::future<void>> waiting;
  for (int i = 0; i < 8; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { (void)client.acquire(name, 30s); }));
  std::this_thread::sleep_for(2s);
  EXPECT_EQ(ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pins' AND state <> 'idle'"), "0");
  // Calls, renewals, notifications; not one a waiter.
  EXPECT_LE(backends("pins").size(), 6u);
  give(name, token);
  for (auto &each : waiting)
    EXPECT_EQ(each.wait_for(30s), std::future_status::ready);
}

TEST(Wait, HasItsEnd) {
  Client client{direct("until")};
  const std::string name = fresh("until");
  const std::int64_t token = take(name);
  const auto begun = boot_clock::now();
  EXPECT_FALSE(client.acquire_for(name, 600ms, 30s));
  EXPECT_GE(boot_clock::now() - begun, 600ms);
  EXPECT_FALSE(client.acquire_for(name, -1s, 30s));
  EXPECT_FALSE(client.acquire_until(name, boot_clock::now() + 100ms, 30s));
  give(name, token);
  EXPECT_TRUE(client.acquire_for(name, 0s, 30s));
}

TEST(Wait, StopsWhenAsked) {
  Client client{direct("stop")};
  const std::string name = fresh("stop");
  ASSERT_GT(take(name), 0);
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client.acquire(name, stop.get_token(), 30s).has_value(); });
  std::this_thread::sleep_for(500ms);
  stop.request_stop();
  ASSERT_EQ(waiting.wait_for(2s), std::future_status::ready);
  EXPECT_FALSE(waiting.get());
}

TEST(Wait, OutlastsAnAbsentServer) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("absent"), {.call_timeout = 500ms}};
  const std::string name = fresh("absent");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token(); });
  std::this_thread::sleep_for(500ms);
  proxy.refuse(true);
  proxy.cut();
  give(name, token);
  std::this_thread::sleep_for(1s);
  proxy.refuse(false);
  EXPECT_EQ(waiting.wait_for(10s), std::future_status::ready);
}

TEST(Wait, ANotificationThatIsLostIsMadeUpFor) {
  // C56: the listening connection ends as the name becomes free.
  Client client{direct("missed")};
  const std::string name = fresh("missed");
  const std::int64_t token = take(name, "2 min");
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token(); });
  std::this_thread::sleep_for(1500ms);
  terminate("missed");
  give(name, token);
  EXPECT_EQ(waiting.wait_for(5s), std::future_status::ready);
}

TEST(Wait, AGrantThatWasWaitedForHasItsWholeTime) {
  Client client{direct("whole")};
  const std::string name = fresh("whole");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] {
    const Lease lease = client.acquire(name, 3s);
    EXPECT_GT(lease.deadline() - boot_clock::now(), 1500ms);
    EXPECT_LE(lease.deadline() + 750ms, server_deadline(name, lease.token()));
  });
  std::this_thread::sleep_for(3500ms);
  give(name, token);
  EXPECT_EQ(waiting.wait_for(10s), std::future_status::ready);
}

TEST(Wait, InOrderOfArrivalByNotification) {
  Client client{direct("order")};
  const std::string name = fresh("order");
  std::optional<Lease> holder{client.acquire(name, 30s)};
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      const Lease lease = client.acquire(name, 30s);
      const std::lock_guard lock{mutex};
      order.push_back(i);
    });
    EXPECT_TRUE(eventually(
        [&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == std::to_string(i + 1); }));
  }
  EXPECT_TRUE(eventually([&] { return client.notifications_arrive() == true; }));
  holder.reset();
  for (std::thread &waiter : waiters)
    waiter.join();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(Wait, WhoLeavesGivesHisPlaceUp) {
  Client client{direct("leaves")};
  const std::string name = fresh("leaves");
  ASSERT_GT(take(name), 0);
  EXPECT_FALSE(client.acquire_for(name, 800ms, 30s));
  EXPECT_EQ(ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}), "0");
}

TEST(Wait, AGrantThatIsHandedOverHasItsWholeTime) {
  // The time of a transfer has begun before the receiver asks.
  Client client{direct("handed")};
  const std::string name = fresh("handed");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] {
    const Lease lease = client.acquire(name, 3s);
    EXPECT_LE(lease.deadline() + 750ms, server_deadline(name, lease.token()));
    return lease.token().value();
  });
  ASSERT_TRUE(eventually([&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == "1"; }));
  const std::string next =
      ask("SELECT gatepost.lease_transfer($1, $2::bigint, (SELECT request_id FROM gatepost.queue WHERE name = $1))",
          {name, std::to_string(token)});
  EXPECT_EQ(std::to_string(waiting.get()), next);
}

TEST(Wait, RightsThatAreMissingEndIt) {
  ask("DROP ROLE IF EXISTS stranger");
  ask("CREATE ROLE stranger LOGIN");
  ask("GRANT USAGE ON SCHEMA gatepost TO stranger");
  Client client{"user=stranger"};
  try {
    (void)client.acquire(fresh("rights"));
    FAIL();
  } catch (const error &refused) {
    EXPECT_STREQ(refused.sqlstate(), "42501");
  }
}

} // namespace
} // namespace gatepost::test
