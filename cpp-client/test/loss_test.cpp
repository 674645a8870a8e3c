// Loss is loud: by callback, stop_token, and on next use; with the reason.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gatepost/fake.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Loss, IsToldInEachWay) {
  Client client{direct("told")};
  const std::string name = fresh("told");
  std::atomic<int> calls{0}, reason{-1};
  Lease lease = client.acquire(name, lasting, {.on_lost = [&](Loss loss) {
                                 reason = static_cast<int>(loss);
                                 ++calls;
                               }});
  const std::stop_token stop = lease.stop_token();
  EXPECT_FALSE(stop.stop_requested());
  break_lease(name);
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
  Lease lease = client.acquire(name, lasting);
  give(name, lease.token().value());
  EXPECT_TRUE(eventually([&] { return lease.loss() == Loss::released; }));
}

TEST(Loss, TakenByAnotherAfterwards) {
  Client client{direct("taken")};
  const std::string name = fresh("taken");
  Lease lease = client.acquire(name, lasting);
  give(name, lease.token().value());
  ASSERT_GT(take(name), 0);
  EXPECT_TRUE(eventually([&] { return lease.state() == State::lost; }));
  EXPECT_EQ(lease.loss(), Loss::superseded);
}

TEST(Loss, ByOwnDeadlineWhateverTheErrorIs) {
  // C78: errors of every sort, and no answer.
  for (const char *fault : {"refused", "stalled", "delayed", "locked"}) {
    std::unique_ptr<Connection> other;
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
    } else if (fault == std::string{"locked"}) {
      other = open_connection(direct("locker"));
      other->execute("BEGIN");
      other->execute("LOCK TABLE gatepost.lease_slots IN EXCLUSIVE MODE");
    } else {
      proxy.delay(2500ms);
    }
    const auto server = server_deadline(name, lease.token());
    bool was_held = true;
    while (was_held && boot_clock::now() < server + 3s) {
      const auto before = boot_clock::now();
      was_held = lease.held();
      if (was_held && before >= server) {
        EXPECT_FALSE(other) << "renewed in a table that is locked";
        EXPECT_LT(before, server_deadline(name, lease.token())) << fault;
      }
      std::this_thread::sleep_for(20ms);
    }
    EXPECT_FALSE(was_held) << fault;
    other.reset();
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
  const Role holder{"holder"};
  ask("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost TO " + holder.quoted());
  Client client{holder.conninfo("revoked")};
  Lease lease = client.acquire(fresh("revoked"), 2s);
  ask("REVOKE USAGE ON SCHEMA gatepost FROM " + holder.quoted());
  ask("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA gatepost FROM " + holder.quoted());
  EXPECT_TRUE(eventually([&] { return !lease.held(); }));
  EXPECT_EQ(lease.loss(), Loss::expired);
}

/// What is the user's waits here until it is let go on.
struct Standstill {
  std::promise<void> opened{};
  std::shared_future<void> open = opened.get_future().share();
  std::atomic<bool> reached{false};

  void wait() {
    reached = true;
    open.wait_for(2 * patience());
  }
};

TEST(Loss, WhatTakesItsTimeHoldsUpNoStopAndNoTimeout) {
  // A callback; and a hook.
  for (const bool hook : {false, true}) {
    Standstill gate;
    Proxy proxy{std::getenv("PGHOST")};
    ClientOptions options{.call_timeout = 1s};
    const std::string name = fresh("slow"), other = fresh("slow");
    if (hook)
      options.log = [&](LogLevel, std::string_view message) {
        if (message.find('"' + name + "\" is lost") != std::string::npos)
          gate.wait();
      };
    Client client{proxy.conninfo("slow"), options};
    LeaseOptions slow;
    if (!hook)
      slow.on_lost = [&](Loss) { gate.wait(); };
    std::atomic<int> calls{0};
    std::optional<Lease> first{client.acquire(name, lasting, slow)};
    const Lease second = client.acquire(other, lasting, {.on_lost = [&](Loss) { ++calls; }});
    break_lease(name);
    ASSERT_TRUE(eventually([&] { return gate.reached.load(); }));
    break_lease(other);
    const bool stopped = eventually([&] { return second.stop_token().stop_requested(); });
    std::future<void> calling;
    bool cut = false;
    if (stopped) {
      calling = std::async(std::launch::async, [&] { (void)client.execute("SELECT pg_sleep(60)"); });
      cut = calling.wait_for(patience()) == std::future_status::ready;
    }
    const int early = calls;
    gate.opened.set_value();
    if (!cut)
      proxy.cut();
    ASSERT_TRUE(stopped);
    ASSERT_TRUE(cut);
    EXPECT_EQ(early, 0);
    EXPECT_THROW(calling.get(), unknown_outcome);
    EXPECT_TRUE(eventually([&] { return calls == 1; }));
  }
}

TEST(Loss, EachStopComesBeforeTheFirstCallback) {
  // Of those that are lost at once.
  FakeServer server;
  Client client{server.factory(), server.options()};
  std::vector<Lease> leases;
  std::atomic<int> calls{0}, stopped{0};
  constexpr int count = 20;
  leases.reserve(count);
  for (int i = 0; i < count; ++i)
    leases.push_back(client.acquire(fresh("each"), 30s, {.on_lost = [&](Loss) {
                                      if (calls++ == 0)
                                        for (const Lease &lease : leases)
                                          stopped += lease.stop_token().stop_requested();
                                    }}));
  server.refuse(true);
  server.advance(31s);
  EXPECT_TRUE(eventually([&] { return calls == count; }));
  EXPECT_EQ(stopped, count);
  server.refuse(false);
}

TEST(Loss, WithoutAnythingToTellThereIsNoThreadForIt) {
  // A thread that has been joined is listed a moment longer.
  ASSERT_TRUE(eventually([] { return library_threads() == 0; }));
  Client client{direct("untold")};
  const std::string name = fresh("untold"), told = fresh("untold");
  const Lease lease = client.acquire(name, 1s);
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return lease.stop_token().stop_requested(); }));
  std::atomic<bool> lost{false};
  {
    const Lease other = client.acquire(told, lasting, {.on_lost = [&](Loss) { lost = true; }});
    EXPECT_EQ(library_threads(), 2u);
    break_lease(told);
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_TRUE(eventually([] { return library_threads() == 3; }));
  }
}

TEST(Loss, AfterTheEndOfItsGuardNoCallbackBegins) {
  // That one had to wait for another's.
  Standstill gate;
  Client client{direct("after")};
  const std::string name = fresh("after"), other = fresh("after"), last = fresh("after");
  std::atomic<int> calls{0}, last_calls{0};
  std::optional<Lease> first{client.acquire(name, 1s, {.on_lost = [&](Loss) { gate.wait(); }})};
  std::optional<Lease> second{client.acquire(other, 1s, {.on_lost = [&](Loss) { ++calls; }})};
  const Lease third = client.acquire(last, lasting, {.on_lost = [&](Loss) { ++last_calls; }});
  break_lease(name);
  ASSERT_TRUE(eventually([&] { return gate.reached.load(); }));
  break_lease(other);
  EXPECT_TRUE(eventually([&] { return second->stop_token().stop_requested(); }));
  second.reset();
  break_lease(last);
  EXPECT_TRUE(eventually([&] { return third.stop_token().stop_requested(); }));
  gate.opened.set_value();
  // Told after it.
  EXPECT_TRUE(eventually([&] { return last_calls == 1; }));
  EXPECT_EQ(calls, 0);
}

TEST(Loss, ExceptionsOfCallbacksGoNoFurther) {
  // C92.
  Log log;
  Client client{direct("throws"), {.log = log.hook(), .metric = [](auto, auto, auto) { throw 1; }}};
  const std::string name = fresh("throws"), other = fresh("other");
  Lease lease = client.acquire(name, lasting, {.on_lost = [](Loss) { throw std::runtime_error{"from the callback"}; }});
  const Lease second = client.acquire(other, lasting);
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return log.has("from the callback"); }));
  EXPECT_TRUE(is_renewed(second));
}

TEST(Loss, AHookThatThrowsHarmsNothing) {
  Client client{direct("hook"), {.log = [](auto, auto) { throw std::runtime_error{"from the hook"}; }}};
  const std::string name = fresh("hook");
  Lease lease = client.acquire(name, 1s);
  break_lease(name);
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
  Lease lease = client.acquire(name, lasting, {.on_yield = [&](const std::string &why) {
                                 const std::lock_guard lock{mutex};
                                 reason = why;
                                 ++calls;
                               }});
  EXPECT_FALSE(client.request_yield(fresh("nobody"), "x"));
  EXPECT_TRUE(client.request_yield(name, "deploy"));
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_EQ(calls, 1);
  const std::lock_guard lock{mutex};
  EXPECT_EQ(reason, "deploy");
}

TEST(Loss, AYieldIsAskedForOnceTheLeaseIsAtRest) {
  // Somebody's transaction has the row for a while.
  std::atomic<int> asked{0};
  Client client{[&] {
    return std::make_unique<Wrapped>(
        open_connection(direct("atrest")),
        [&](const std::string &sql, std::span<const Value>) { asked += sql.find("yield") != std::string::npos; });
  }};
  const std::string name = fresh("atrest");
  const Lease lease = client.acquire(name, 1h);
  const auto other = open_connection(direct("other"));
  other->execute("BEGIN");
  other->execute("SELECT gatepost.lease_renew($1, $2::bigint)", std::vector<Value>{name, to_string(lease.token())});
  auto asking = std::async(std::launch::async, [&] { return client.request_yield(name, "deploy"); });
  EXPECT_TRUE(eventually([&] { return asked > 1; }));
  other->execute("COMMIT");
  EXPECT_TRUE(asking.get());
}

TEST(Loss, WhatACallbackHoldsOnToMayBeAGuard) {
  // It ends with a guard that ends in its own callback.
  FakeServer server;
  auto client = std::make_unique<Client>(server.factory(), server.options());
  auto other = std::make_shared<Lease>(client->acquire("other", 1h));
  std::optional<Lease> lease;
  lease.emplace(client->acquire("x", 30s, {.on_lost = [&lease, other](Loss) { lease.reset(); }}));
  other.reset();
  server.take_away("x");
  server.advance(11s);
  const bool ended = eventually([&] { return !server.is_held("other"); });
  EXPECT_TRUE(ended);
  // Its threads stand still, and it would wait for them.
  if (!ended)
    static_cast<void>(client.release());
}

TEST(Loss, ACallbackIsGoneWithItsGuard) {
  FakeServer server;
  Client client{server.factory(), server.options()};
  const auto held = std::make_shared<int>();
  std::optional<Lease> lease{client.acquire("x", 30s, {.on_lost = [held](Loss) {}})};
  EXPECT_EQ(held.use_count(), 2);
  (void)lease->release();
  EXPECT_EQ(held.use_count(), 1);
}

/// Says when it is closed.
struct Closing : Wrapped {
  Closing(std::unique_ptr<Connection> inner_, std::atomic<int> &closed_)
      : Wrapped{std::move(inner_)}, closed{closed_} {}
  ~Closing() override { ++closed; }
  std::atomic<int> &closed;
};

TEST(Loss, IsToldThoughItIsFoundBesideTheEnd) {
  FakeServer server;
  std::atomic<int> lost{0}, closed{0};
  std::atomic<bool> stopped{false};
  ClientOptions options = server.options();
  options.metric = [&](std::string_view metric, double, std::string_view) { lost += metric == "gatepost.client.lost"; };
  std::optional<Client> client{std::in_place, [&] { return std::make_unique<Closing>(server.factory()(), closed); },
                               options};
  std::optional<Lease> lease{client->acquire("x", 30s)};
  server.advance(11s);
  ASSERT_TRUE(eventually([&] { return server.renewals("x") == 1; }));
  {
    // The connection for renewals is closed when the client has begun to end.
    const std::stop_callback until_the_end{lease->stop_token(), [&] {
                                             stopped = true;
                                             EXPECT_TRUE(eventually([&] { return closed > 0; }));
                                           }};
    server.take_away("x");
    server.advance(11s);
    ASSERT_TRUE(eventually([&] { return stopped.load(); }));
    lease.reset();
    client.reset();
  }
  EXPECT_EQ(lost, 1);
}

} // namespace
} // namespace gatepost::test
