// Waiting for a name, outside the server.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <set>
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
  ASSERT_EQ(waiting.wait_for(patience()), std::future_status::ready);
  EXPECT_GT(waiting.get().value(), token);
}

TEST(Wait, KeepsNoServerProcessBusy) {
  Client client{direct("pins")};
  const std::string name = fresh("pins");
  const std::int64_t token = take(name);
  std::vector<std::future<void>> waiting;
  for (int i = 0; i < 8; ++i)
    waiting.push_back(std::async(std::launch::async, [&] { (void)client.acquire(name, 30s); }));
  EXPECT_TRUE(eventually([&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == "8"; }));
  EXPECT_TRUE(eventually([] {
    return ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pins' AND state <> 'idle'") == "0";
  }));
  // Calls, renewals, notifications; not one a waiter.
  EXPECT_TRUE(eventually([] { return backends("pins").size() <= 6; }));
  give(name, token);
  for (auto &each : waiting)
    EXPECT_EQ(each.wait_for(patience()), std::future_status::ready);
}

/// The connections of a client, and the statements on them.
struct Counts {
  std::atomic<int> open{0}, most_open{0}, statements{0};
};
struct Counted final : Wrapped {
  Counted(std::unique_ptr<Connection> inner_, Counts &counts_)
      : Wrapped{std::move(inner_), [&counts_](auto &&...) { ++counts_.statements; }}, counts{counts_} {
    const int now = ++counts.open;
    for (int most = counts.most_open; now > most && !counts.most_open.compare_exchange_weak(most, now);)
      ;
  }
  ~Counted() override {
    inner.reset();
    --counts.open;
  }
  Counts &counts;
};

TEST(Wait, TwoHundredAreServedWithFewStatements) {
  // C58: on a release those look again whose turn it may be, not all.
  constexpr int waiters = 200;
  Counts counts;
  std::atomic<int> served{0};
  std::atomic<std::int64_t> waited{0}, longest{0};
  const auto begun = boot_clock::now();
  {
    Client client{[&] { return std::make_unique<Counted>(open_connection(direct("herd")), counts); }};
    const std::string name = fresh("herd");
    std::vector<std::thread> threads;
    for (int i = 0; i < waiters; ++i)
      threads.emplace_back([&] {
        const auto asked = boot_clock::now();
        const std::optional<Lease> lease = client.acquire_for(name, 2min, 30s);
        const std::int64_t wait = (boot_clock::now() - asked).count();
        waited += wait;
        for (std::int64_t most = longest; wait > most && !longest.compare_exchange_weak(most, wait);)
          ;
        std::this_thread::sleep_for(50ms);
        served += lease && lease->held();
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  EXPECT_EQ(served, waiters);
  // A waiter asks when it comes, looks once a second and keeps its place; and two are called at each release.
  const double seconds = static_cast<double>(waited) / 1e9, each = static_cast<double>(counts.statements) / waiters;
  EXPECT_LT(counts.statements, waiters * 12 + 2.5 * seconds)
      << each << " statements a grant, " << seconds / waiters << " s of waiting";
  // Calls, renewals, notifications.
  EXPECT_LE(counts.most_open, 18);
  RecordProperty("statements_a_grant", std::to_string(each));
  std::printf("# %.1f statements a grant, served in %.1f s, longest wait %.1f s\n", each,
              std::chrono::duration<double>{boot_clock::now() - begun}.count(), static_cast<double>(longest) / 1e9);
}

TEST(Wait, NoMoreCallsAreMadeAtOnceThanAsked) {
  constexpr int most = 2;
  std::promise<void> end;
  const std::shared_future<void> ending = end.get_future().share();
  std::atomic<int> calls{0};
  ClientOptions options;
  options.calls_at_once = most;
  options.call_timeout = 1s;
  Client client{[&] {
                  return std::make_unique<Wrapped>(open_connection(direct("turns")), [&](auto &&...) {
                    if (++calls <= most)
                      ending.wait();
                  });
                },
                options};
  std::vector<std::future<std::int64_t>> first;
  for (int i = 0; i < most; ++i)
    first.push_back(
        std::async(std::launch::async, [&] { return client.acquire(fresh("turns"), lasting).token().value(); }));
  EXPECT_TRUE(eventually([&] { return calls == most; }));
  EXPECT_THROW((void)client.try_acquire(fresh("turns"), lasting), unavailable);
  EXPECT_EQ(calls, most);
  end.set_value();
  for (auto &each : first)
    EXPECT_GT(each.get(), 0);
  EXPECT_TRUE(client.try_acquire(fresh("turns"), lasting));
}

TEST(Wait, StopsNoIndexBuild) {
  // C55: no transaction is open while it lasts. What tests before have left at the server would be in the way as well.
  const std::string others = " FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
  ask("SELECT count(pg_terminate_backend(pid))" + others);
  EXPECT_TRUE(eventually([&] { return ask("SELECT count(*)" + others) == "0"; }));
  Client client{direct("migrate")};
  const std::string name = fresh("migrate");
  Lease holder = client.acquire(name, lasting);
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, lasting).held(); });
  EXPECT_TRUE(eventually([&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == "1"; }));
  const auto builder =
      open_connection(direct("builder") + " options='-c statement_timeout=" + std::to_string(patience().count()) + "'");
  builder->execute("CREATE TABLE IF NOT EXISTS built (id int)");
  EXPECT_NO_THROW(builder->execute("CREATE INDEX CONCURRENTLY ON built (id)"));
  EXPECT_TRUE(holder.release());
  ASSERT_EQ(waiting.wait_for(patience()), std::future_status::ready);
  EXPECT_TRUE(waiting.get());
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
  const auto end = std::chrono::steady_clock::now() + 300ms;
  EXPECT_FALSE(client.acquire_until(name, end, 30s));
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  EXPECT_FALSE(client.acquire_until(name, std::chrono::system_clock::now() + 100ms, 30s));
  EXPECT_FALSE(client.acquire_until(name, std::chrono::time_point<boot_clock, std::chrono::hours>::min(), 30s));
  give(name, token);
  EXPECT_TRUE(client.acquire_for(name, 0s, 30s));
}

TEST(Wait, TheLongestTimeIsLong) {
  Client client{direct("longest"), {.call_timeout = std::chrono::hours::max()}};
  const std::string name = fresh("longest");
  const std::int64_t token = take(name);
  const LeaseOptions forever{.max_hold = std::chrono::hours::max()};
  using Hours = std::chrono::time_point<boot_clock, std::chrono::hours>;
  std::vector<std::future<bool>> waiting;
  waiting.push_back(std::async(std::launch::async, [&] {
    return client.acquire_for(name, std::chrono::hours::max(), 30s, forever).has_value();
  }));
  waiting.push_back(std::async(std::launch::async,
                               [&] { return client.acquire_until(name, Hours::max(), 30s, forever).has_value(); }));
  for (auto &each : waiting)
    EXPECT_EQ(each.wait_for(500ms), std::future_status::timeout);
  give(name, token);
  for (auto &each : waiting) {
    ASSERT_EQ(each.wait_for(patience()), std::future_status::ready);
    EXPECT_TRUE(each.get());
  }
  const Lease lease = client.acquire(name, 30s, forever);
  EXPECT_THROW(lease.require(std::chrono::hours::max()), lease_lost);
}

TEST(Wait, APermitIsWaitedForUntilStopOrTheEnd) {
  Client client{direct("permits")};
  const Semaphore one{fresh("permits"), 1};
  std::optional<Permit> held = client.try_acquire(one, lasting);
  ASSERT_TRUE(held);
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client.acquire(one, stop.get_token(), lasting).has_value(); });
  EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout);
  stop.request_stop();
  ASSERT_EQ(waiting.wait_for(patience()), std::future_status::ready);
  EXPECT_FALSE(waiting.get());
  const auto end = std::chrono::steady_clock::now() + 300ms;
  EXPECT_FALSE(client.acquire_until(one, end, lasting));
  EXPECT_GE(std::chrono::steady_clock::now(), end);
  EXPECT_FALSE(client.acquire_until(one, boot_clock::now() + 100ms, lasting));
  EXPECT_TRUE(held->release());
  EXPECT_TRUE(client.acquire_until(one, boot_clock::now() + patience(), lasting));
  EXPECT_TRUE(client.acquire(one, std::stop_token{}, lasting));
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
  ASSERT_EQ(waiting.wait_for(patience()), std::future_status::ready);
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
  EXPECT_EQ(waiting.wait_for(patience()), std::future_status::ready);
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
  EXPECT_EQ(waiting.wait_for(patience()), std::future_status::ready);
}

TEST(Wait, AReleaseBetweenTheTryAndTheListeningIsSeen) {
  // C56: whoever has just begun to listen looks again.
  const std::string name = fresh("between");
  const std::int64_t token = take(name, "2 min");
  struct Releasing final : Wrapped {
    Releasing(std::unique_ptr<Connection> inner_, std::function<void()> release_)
        : Wrapped{std::move(inner_)}, release{std::move(release_)} {}
    void listen(const std::string &channel) override {
      if (!channel.starts_with("gatepost_test_"))
        release();
      Wrapped::listen(channel);
    }
    std::function<void()> release;
  };
  std::atomic<int> released{0};
  Client client{[&] {
    return std::make_unique<Releasing>(open_connection(direct("between")), [&] {
      if (++released == 1)
        give(name, token);
    });
  }};
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token(); });
  EXPECT_EQ(waiting.wait_for(patience()), std::future_status::ready);
  EXPECT_GE(released, 1);
}

TEST(Wait, AGrantThatWasWaitedForHasItsWholeTime) {
  Client client{direct("whole")};
  const std::string name = fresh("whole");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] {
    const auto asked = boot_clock::now();
    const Lease lease = client.acquire(name, lasting);
    // Of its last second each guard makes no use.
    EXPECT_GT(lease.deadline(), asked + lasting);
    EXPECT_LE(lease.deadline() + 1s, server_deadline(name, lease.token()));
  });
  std::this_thread::sleep_for(3500ms);
  give(name, token);
  EXPECT_EQ(waiting.wait_for(patience()), std::future_status::ready);
}

/// The machine's time, and as much more as is wished.
class Ahead final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override {
    return boot_clock::now() + std::chrono::nanoseconds{ahead_.load()};
  }
  std::chrono::nanoseconds nap() const noexcept override { return 100ms; }
  void advance(std::chrono::nanoseconds time) { ahead_ += time.count(); }

private:
  std::atomic<std::int64_t> ahead_{0};
};

TEST(Wait, WhetherNotificationsArriveIsTriedOutEachMinute) {
  struct Deafening final : Wrapped {
    Deafening(std::unique_ptr<Connection> inner_, const std::atomic<bool> &deaf_)
        : Wrapped{std::move(inner_)}, deaf{deaf_} {}
    std::vector<std::string> notifications() override {
      std::vector<std::string> heard = Wrapped::notifications();
      return deaf ? std::vector<std::string>{} : heard;
    }
    const std::atomic<bool> &deaf;
  };
  std::atomic<bool> deaf{false};
  const auto clock = std::make_shared<Ahead>();
  Client client{[&] { return std::make_unique<Deafening>(open_connection(direct("minute")), deaf); }, {.clock = clock}};
  const std::string name = fresh("minute");
  ASSERT_GT(take(name, "1 h"), 0);
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { (void)client.acquire(name, stop.get_token(), 30s); });
  EXPECT_TRUE(eventually([&] { return client.notifications_arrive() == true; }));
  for (const bool arrive : {false, true}) {
    deaf = !arrive;
    clock->advance(61s);
    EXPECT_TRUE(eventually([&] { return client.notifications_arrive() == arrive; })) << arrive;
  }
  stop.request_stop();
  waiting.get();
}

TEST(Wait, InOrderOfArrivalByNotification) {
  Client client{direct("order")};
  const std::string name = fresh("order");
  std::optional<Lease> holder{client.acquire(name, 30s)};
  std::mutex mutex;
  std::set<int> waiting{0, 1, 2, 3};
  boot_clock::time_point freed;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      const Lease lease = client.acquire(name, 30s);
      const std::lock_guard lock{mutex};
      // Others hold back for 50 ms from who is called; on a busy machine he may come later than that.
      const int first = *waiting.begin();
      EXPECT_TRUE(i == first || boot_clock::now() - freed > 50ms) << i << " before " << first;
      waiting.erase(i);
      freed = boot_clock::now();
    });
    EXPECT_TRUE(eventually(
        [&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == std::to_string(i + 1); }));
  }
  EXPECT_TRUE(eventually([&] { return client.notifications_arrive() == true; }));
  {
    const std::lock_guard lock{mutex};
    freed = boot_clock::now();
  }
  holder.reset();
  for (std::thread &waiter : waiters)
    waiter.join();
  EXPECT_TRUE(waiting.empty());
}

TEST(Wait, AnErrorThatPassesEndsNone) {
  std::atomic<int> errors{0};
  Client client{[&] {
    return std::make_unique<Wrapped>(open_connection(direct("passing")),
                                     [&](const std::string &sql, std::span<const Value>) {
                                       if (sql.find("lease_queue") == std::string::npos || errors >= 3)
                                         return;
                                       const char *const states[] = {"LG010", "40001", "55P03"};
                                       throw_for(states[errors++], "not now");
                                     });
  }};
  const std::string name = fresh("passing");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token().value(); });
  EXPECT_TRUE(eventually([&] { return errors == 3; }));
  give(name, token);
  EXPECT_GT(waiting.get(), token);
}

TEST(Wait, WhoLeavesGivesHisPlaceUp) {
  Client client{direct("leaves")};
  const std::string name = fresh("leaves");
  ASSERT_GT(take(name), 0);
  const auto waiters = [&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}); };
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client.acquire(name, stop.get_token(), 30s).has_value(); });
  EXPECT_TRUE(eventually([&] { return waiters() == "1"; }));
  stop.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_EQ(waiters(), "0");
}

TEST(Wait, AGrantThatIsHandedOverHasItsWholeTime) {
  // The time of a transfer has begun before the receiver asks. Several times, since one who happens to ask just then is
  // right anyway.
  Client client{direct("handed")};
  for (int i = 0; i < 6; ++i) {
    const std::string name = fresh("handed");
    const std::int64_t token = take(name);
    auto waiting = std::async(std::launch::async, [&] {
      const Lease lease = client.acquire(name, lasting);
      EXPECT_LE(lease.deadline() + 1s, server_deadline(name, lease.token()));
      return lease.token().value();
    });
    ASSERT_TRUE(
        eventually([&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == "1"; }));
    const std::string next =
        ask("SELECT gatepost.lease_transfer($1, $2::bigint, (SELECT request_id FROM gatepost.queue WHERE name = $1))",
            {name, std::to_string(token)});
    EXPECT_EQ(std::to_string(waiting.get()), next);
  }
}

TEST(Wait, RightsThatAreMissingEndIt) {
  const Role stranger{"stranger"};
  Client client{stranger.conninfo("rights")};
  try {
    EXPECT_FALSE(client.acquire_for(fresh("rights"), patience() / 2));
    FAIL() << "waited for rights";
  } catch (const error &refused) {
    EXPECT_STREQ(refused.sqlstate(), "42501");
  }
}

} // namespace
} // namespace gatepost::test
