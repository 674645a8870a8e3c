// Loss is loud: by callback, stop_token, and on next use; with the reason.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Loss, IsToldInEachWay) {
  Client client{direct("told")};
  const std::string name = fresh("told");
  std::atomic<int> calls{0}, reason{-1};
  Lease lease = client.acquire(name, 1s, {.on_lost = [&](Loss loss) {
                                 reason = static_cast<int>(loss);
                                 ++calls;
                               }});
  const std::stop_token stop = lease.stop_token();
  EXPECT_FALSE(stop.stop_requested());
  ask("SELECT gatepost.lease_break($1)", {name});
  EXPECT_TRUE(eventually([&] { return stop.stop_requested() && calls == 1; }));
  EXPECT_EQ(reason, static_cast<int>(Loss::broken));
  EXPECT_EQ(lease.state(), State::lost);
  EXPECT_EQ(lease.loss(), Loss::broken);
  try {
    lease.require();
    FAIL();
  } catch (const lease_lost &lost) {
    EXPECT_EQ(lost.reason(), Loss::broken);
  }
  EXPECT_FALSE(lease.release());
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(calls, 1);
}

TEST(Loss, GivenBackByAnother) {
  Client client{direct("elsewhere")};
  const std::string name = fresh("elsewhere");
  Lease lease = client.acquire(name, 1s);
  give(name, lease.token().value());
  EXPECT_TRUE(eventually([&] { return lease.loss() == Loss::released; }));
}

TEST(Loss, TakenByAnotherAfterwards) {
  Client client{direct("taken")};
  const std::string name = fresh("taken");
  Lease lease = client.acquire(name, 1s);
  give(name, lease.token().value());
  ASSERT_GT(take(name), 0);
  EXPECT_TRUE(eventually([&] { return lease.state() == State::lost; }));
  EXPECT_EQ(lease.loss(), Loss::superseded);
}

TEST(Loss, ByOwnDeadlineWhateverTheErrorIs) {
  // C78: errors of every sort, and no answer.
  for (const char *fault : {"refused", "stalled", "delayed"}) {
    Proxy proxy{std::getenv("PGHOST")};
    Client client{proxy.conninfo("fault")};
    const std::string name = fresh("fault");
    std::atomic<int> calls{0};
    Lease lease = client.acquire(name, 2s, {.on_lost = [&](Loss) { ++calls; }});
    if (fault == std::string{"refused"}) {
      proxy.refuse(true);
      proxy.cut();
    } else if (fault == std::string{"stalled"}) {
      proxy.stall(true);
    } else {
      proxy.delay(2500ms);
    }
    const auto server = server_deadline(name, lease.token());
    bool was_held = true;
    while (was_held && boot_clock::now() < server + 3s) {
      const auto before = boot_clock::now();
      was_held = lease.held();
      if (was_held) {
        EXPECT_LT(before, std::max(server, server_deadline(name, lease.token()))) << fault;
      }
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_FALSE(was_held) << fault;
    EXPECT_TRUE(eventually([&] { return calls == 1; })) << fault;
    EXPECT_EQ(lease.loss(), Loss::expired) << fault;
    proxy.stall(false);
    proxy.delay(0ms);
    proxy.refuse(false);
    // Once lost, lost for good.
    std::this_thread::sleep_for(500ms);
    EXPECT_FALSE(lease.held()) << fault;
  }
}

TEST(Loss, RightsTakenAwayEndItInTime) {
  // C78.
  ask("CREATE ROLE holder LOGIN");
  ask("GRANT USAGE ON SCHEMA gatepost TO holder");
  ask("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO holder");
  Client client{"user=holder application_name=revoked"};
  Lease lease = client.acquire(fresh("revoked"), 2s);
  ask("REVOKE USAGE ON SCHEMA gatepost FROM holder");
  ask("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost FROM holder");
  EXPECT_TRUE(eventually([&] { return !lease.held(); }, 3s));
  EXPECT_EQ(lease.loss(), Loss::expired);
}

TEST(Loss, ExceptionsOfCallbacksGoNoFurther) {
  // C92.
  Log log;
  Client client{direct("throws"), {.log = log.hook(), .metric = [](auto, auto, auto) { throw 1; }}};
  const std::string name = fresh("throws"), other = fresh("other");
  Lease lease = client.acquire(name, 1s, {.on_lost = [](Loss) { throw std::runtime_error{"from the callback"}; }});
  const Lease second = client.acquire(other, 1s);
  ask("SELECT gatepost.lease_break($1)", {name});
  EXPECT_TRUE(eventually([&] { return log.has("from the callback"); }));
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(second.held());
}

TEST(Loss, AHookThatThrowsHarmsNothing) {
  Client client{direct("hook"), {.log = [](auto, auto) { throw std::runtime_error{"from the hook"}; }}};
  const std::string name = fresh("hook");
  Lease lease = client.acquire(name, 1s);
  ask("SELECT gatepost.lease_break($1)", {name});
  EXPECT_TRUE(eventually([&] { return lease.state() == State::lost; }));
}

TEST(Loss, YieldRequestsAreTold) {
  if (ask("SELECT to_regprocedure('gatepost.lease_request_yield(text, text)')").empty())
    GTEST_SKIP() << "the server has no lease_request_yield";
  Client client{direct("yield")};
  const std::string name = fresh("yield");
  std::mutex mutex;
  std::string reason;
  std::atomic<int> calls{0};
  Lease lease = client.acquire(name, 1s, {.on_yield = [&](const std::string &why) {
                                 const std::lock_guard lock{mutex};
                                 reason = why;
                                 ++calls;
                               }});
  EXPECT_FALSE(client.request_yield(fresh("nobody"), "x"));
  EXPECT_TRUE(client.request_yield(name, "deploy"));
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(calls, 1);
  const std::lock_guard lock{mutex};
  EXPECT_EQ(reason, "deploy");
  EXPECT_TRUE(lease.held());
}

} // namespace
} // namespace gatepost::test
