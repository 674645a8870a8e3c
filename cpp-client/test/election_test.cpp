// Leaders and singletons.
#include "proxy.hpp"
#include "server.hpp"

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
  LeaderElection first{client, name, lead, {.ttl = 2s, .owner = "first"}};
  ASSERT_TRUE(eventually([&] { return first.is_leader(); }));
  LeaderElection second{other, name, lead, {.ttl = 2s, .owner = "second"}};
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
                            std::this_thread::sleep_for(2s);
                            held_late = lease.held();
                            still_held = is_held(name);
                          },
                          {.ttl = 1s}};
  ASSERT_TRUE(eventually([&] { return election.is_leader(); }));
  auto resigning = std::async(std::launch::async, [&] { election.resign(); });
  EXPECT_TRUE(eventually([&] { return !election.is_leader(); }, 500ms));
  EXPECT_TRUE(is_held(name));
  resigning.wait();
  EXPECT_TRUE(held_late);
  EXPECT_TRUE(still_held);
  EXPECT_FALSE(is_held(name));
}

TEST(Election, NotLeaderByTheDeadlineWhateverHappens) {
  // C78.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("cutleader")}, other{direct("follower")};
  const std::string name = fresh("cut");
  std::atomic<int> stopped{0};
  std::atomic<bool> first_working{false}, overlap{false};
  LeaderElection first{client,
                       name,
                       [&](const Lease &, std::stop_token stop) {
                         first_working = true;
                         until_stopped(stop);
                         first_working = false;
                         ++stopped;
                       },
                       {.ttl = 2s}};
  ASSERT_TRUE(eventually([&] { return first.is_leader(); }));
  LeaderElection second{other,
                        name,
                        [&](const Lease &, std::stop_token stop) {
                          overlap = overlap || first_working || first.is_leader();
                          until_stopped(stop);
                        },
                        {.ttl = 30s}};
  proxy.stall(true);
  EXPECT_TRUE(eventually([&] { return !first.is_leader(); }, 3s));
  EXPECT_TRUE(eventually([&] { return second.is_leader(); }, 5s));
  EXPECT_FALSE(overlap);
  EXPECT_EQ(stopped, 1);
  proxy.stall(false);
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
      Singleton singleton{client, name, 5s};
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
    return Singleton{client, name, 1s}.run(
        [&](const Lease &, std::stop_token either) {
          ++runs;
          until_stopped(either);
        },
        stop.get_token());
  });
  ASSERT_TRUE(eventually([&] { return runs == 1; }));
  ask("SELECT gatepost.lease_break($1)", {name});
  EXPECT_TRUE(eventually([&] { return runs == 2; }));
  stop.request_stop();
  EXPECT_FALSE(run.get());
  EXPECT_FALSE(is_held(name));
}

} // namespace
} // namespace gatepost::test
