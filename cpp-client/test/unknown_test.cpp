// Lost answers: settled by the request id, or unknown.
#include "proxy.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace gatepost::test {
namespace {

TEST(Unknown, ALostGrantIsAskedForAgain) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("lost")};
  (void)client.try_acquire(fresh("warm"), 30s);
  const std::string name = fresh("lost");
  proxy.lose_next_answer();
  auto lease = client.try_acquire(name, 30s);
  EXPECT_TRUE(proxy.has_lost());
  ASSERT_TRUE(lease);
  EXPECT_EQ(ask("SELECT token FROM gatepost.leases WHERE name = $1", {name}), to_string(lease->token()));
  EXPECT_TRUE(lease->release());
}

TEST(Unknown, ALostReleaseIsAskedForAgain) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("lostrel")};
  Lease lease = client.acquire(fresh("lostrel"), 30s);
  proxy.lose_next_answer();
  EXPECT_TRUE(lease.release());
  EXPECT_TRUE(proxy.has_lost());
}

TEST(Unknown, ThatCannotBeSettledSaysSo) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("unsettled"), {.call_timeout = 500ms}};
  (void)client.try_acquire(fresh("warm"), 30s);
  proxy.stall(true);
  EXPECT_THROW((void)client.try_acquire(fresh("unsettled"), 30s), unknown_outcome);
}

TEST(Unknown, WithoutAServerNothingHasHappened) {
  Client client{"host=/nowhere", {.call_timeout = 300ms}};
  EXPECT_THROW((void)client.try_acquire("x", 30s), unavailable);
  EXPECT_THROW((void)client.execute("SELECT 1"), unavailable);
  EXPECT_THROW(client.with_lock("x", [](Transaction &) {}), unavailable);
}

TEST(Unknown, AWarningAtCommitIsNoGrant) {
  // COMMIT waits for a standby that is not there; the wait is cancelled, which the server answers with a WARNING.
  Log log;
  Client client{direct("warned"), {.call_timeout = 20s, .log = log.hook()}};
  const std::string name = fresh("warned");
  (void)client.try_acquire(fresh("warm"), 30s);
  ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  ask("SELECT pg_reload_conf()");
  std::atomic<bool> granted{false};
  std::thread worker{[&] {
    auto lease = client.try_acquire(name, 30s);
    granted = lease.has_value();
  }};
  const auto waiting = [] {
    return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'warned'") !=
           "0";
  };
  EXPECT_TRUE(eventually(waiting));
  ask("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = "
      "'warned'");
  EXPECT_TRUE(eventually([&] { return log.has("the server sent a warning with the grant"); }));
  EXPECT_FALSE(granted);
  ask("ALTER SYSTEM RESET synchronous_standby_names");
  ask("SELECT pg_reload_conf()");
  worker.join();
  EXPECT_TRUE(granted);
}

} // namespace
} // namespace gatepost::test
