// Leaders and singletons.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace gatepost::test {
namespace {

void until_stopped(const std::stop_token &stop) {
  while (!stop.stop_requested())
    std::this_thread::sleep_for(5ms);
}

TEST(Election, OneLeads) {
  Client client{direct("one")}, other{direct("two")};
  const std::string name = fresh("leader");
  std::atomic<int> leading{0}, most{0};
  const auto lead = [&](const Lease &lease, std::stop_token stop) {
    most = std::max(most.load(), ++leading);
    EXPECT_TRUE(lease.held());
    until_stopped(stop);
    --leading;
  };
  LeaderElection first{client, name, lead, {.ttl = lasting, .owner = "first"}};
  ASSERT_TRUE(eventually([&] { return first.is_leader(); }));
  LeaderElection second{other, name, lead, {.ttl = lasting, .owner = "second"}};
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(second.is_leader());
  EXPECT_EQ(second.observe()->owner, "first");
  first.resign();
  EXPECT_FALSE(first.is_leader());
  EXPECT_TRUE(eventually([&] { return second.is_leader(); }));
  EXPECT_EQ(first.observe()->owner, "second");
  second.resign();
  EXPECT_FALSE(first.observe());
  EXPECT_EQ(most, 1);
}

TEST(Election, WorkEndsBeforeTheLeaseIsGivenBack) {
  // C80.
  Client client{direct("order")};
  const std::string name = fresh("order");
  std::atomic<bool> still_held{false}, held_late{false};
  LeaderElection election{client,
                          name,
                          [&](const Lease &lease, std::stop_token stop) {
                            until_stopped(stop);
                            held_late = is_renewed(lease);
                            still_held = is_held(name);
                          },
                          {.ttl = lasting}};
  ASSERT_TRUE(eventually([&] { return election.is_leader(); }));
  auto resigning = std::async(std::launch::async, [&] { election.resign(); });
  EXPECT_TRUE(eventually([&] { return !election.is_leader(); }));
  EXPECT_TRUE(is_held(name));
  resigning.wait();
  EXPECT_TRUE(held_late);
  EXPECT_TRUE(still_held);
  EXPECT_FALSE(is_held(name));
}

TEST(Election, NotLeaderByTheDeadlineWhateverHappens) {
  // C78: whatever the question fails by, the leader steps down once, and only then another leads.
  for (const char *fault : {"stalled", "refused", "error"}) {
    Proxy proxy{std::getenv("PGHOST")};
    std::atomic<bool> failing{false};
    Client client{[&] {
      return std::make_unique<Wrapped>(open_connection(proxy.conninfo("cutleader")), [&](auto &&...) {
        if (failing)
          throw error{"canceling statement due to statement timeout", "57014"};
      });
    }};
    Client other{direct("follower")};
    const std::string name = fresh("cut");
    std::atomic<int> stopped{0};
    std::atomic<bool> overlap{false};
    LeaderElection first{client,
                         name,
                         [&](const Lease &, std::stop_token stop) {
                           until_stopped(stop);
                           ++stopped;
                         },
                         {.ttl = 4s}};
    ASSERT_TRUE(eventually([&] { return first.is_leader(); }));
    LeaderElection second{other,
                          name,
                          [&](const Lease &, std::stop_token stop) {
                            // That its work is told to end is seen below: where the whole process stood still
                            // meanwhile, it hears of that no earlier than this.
                            overlap = overlap || first.is_leader();
                            until_stopped(stop);
                          },
                          {.ttl = 1h}};
    if (fault == std::string{"stalled"}) {
      proxy.stall(true);
    } else if (fault == std::string{"refused"}) {
      proxy.refuse(true);
      proxy.cut();
    } else {
      failing = true;
    }
    EXPECT_TRUE(eventually([&] { return !first.is_leader(); })) << fault;
    EXPECT_TRUE(eventually([&] { return second.is_leader(); })) << fault;
    EXPECT_FALSE(overlap) << fault;
    failing = false;
    proxy.refuse(false);
    proxy.stall(false);
    // Back again it is a candidate like others, and has nothing more to step down from.
    EXPECT_TRUE(eventually([&] { return ask("SELECT count(*) FROM gatepost.waiters WHERE name = $1", {name}) == "1"; }))
        << fault;
    EXPECT_EQ(stopped, 1) << fault;
  }
}

TEST(Election, ALeaderWhoIsBeingRenewedIsSeen) {
  // Somebody's transaction has the row for a while.
  Client client{direct("observed")};
  const std::string name = fresh("observed");
  std::atomic<std::int64_t> token{0};
  LeaderElection election{client,
                          name,
                          [&](const Lease &lease, std::stop_token stop) {
                            token = lease.token().value();
                            until_stopped(stop);
                          },
                          {.ttl = 30s, .owner = "leader"}};
  ASSERT_TRUE(eventually([&] { return token != 0; }));
  const auto other = open_connection(direct("other"));
  other->execute("BEGIN");
  other->execute("SELECT gatepost.lease_renew($1, $2::bigint)", std::vector<Value>{name, std::to_string(token)});
  ASSERT_EQ(ask("SELECT state FROM gatepost.leases WHERE name = $1", {name}), "in_flight");
  const std::optional<Leader> seen = election.observe();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->token.value(), token);
  EXPECT_EQ(seen->owner, "leader");
  other->execute("ROLLBACK");
}

TEST(Election, WithoutAServerItEndsAllTheSame) {
  // C92.
  Client client{"host=/nowhere"};
  LeaderElection election{client, "x", [](const Lease &, std::stop_token) {}};
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(election.is_leader());
  EXPECT_THROW((void)election.observe(), unavailable);
}

TEST(Election, AThrowIsLoggedAndTheTermEnds) {
  Log log;
  Client client{direct("throwing"), {.log = log.hook()}};
  LeaderElection election{client,
                          fresh("throwing"),
                          [](const Lease &, std::stop_token) { throw std::runtime_error{"from the work"}; },
                          {.once = true}};
  election.wait();
  EXPECT_TRUE(log.has("from the work"));
}

TEST(Singleton, OneRunsAtATime) {
  Client client{direct("single")};
  const std::string name = fresh("single");
  std::atomic<int> running{0}, runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Singleton singleton{client, name, 30s};
      EXPECT_TRUE(singleton.run([&](const Lease &, std::stop_token) {
        EXPECT_EQ(++running, 1);
        std::this_thread::sleep_for(100ms);
        --running;
        ++runs;
      }));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(runs, 3);
}

TEST(Singleton, BeginsAgainAfterALossAndStopsWhenAsked) {
  Client client{direct("lossy")};
  const std::string name = fresh("lossy");
  std::atomic<int> runs{0};
  std::stop_source stop;
  auto run = std::async(std::launch::async, [&] {
    return Singleton{client, name, lasting}.run(
        [&](const Lease &, std::stop_token either) {
          ++runs;
          until_stopped(either);
        },
        stop.get_token());
  });
  ASSERT_TRUE(eventually([&] { return runs == 1; }));
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return runs == 2; }));
  stop.request_stop();
  EXPECT_FALSE(run.get());
  EXPECT_FALSE(is_held(name));
}

} // namespace
} // namespace gatepost::test
