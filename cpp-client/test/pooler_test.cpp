// Behind PgBouncer in transaction mode.
#include "pooler.hpp"
#include "server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace gatepost::test {
namespace {

class Pooled : public testing::Test {
protected:
  void SetUp() override {
    if (!Pooler::installed())
      GTEST_SKIP() << "there is no pgbouncer";
    pooler_.emplace();
  }
  std::optional<Pooler> pooler_;
};

TEST_F(Pooled, LeasesWork) {
  // C04: nothing is prepared by name. C01: the next is granted at once.
  Client client{pooler_->conninfo()};
  std::vector<Lease> leases;
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fresh("pooled"));
    leases.push_back(client.acquire(names.back(), lasting));
  }
  EXPECT_TRUE(are_renewed(leases));
  EXPECT_TRUE(are_renewed(leases));
  for (Lease &lease : leases) {
    EXPECT_TRUE(lease.held());
    EXPECT_TRUE(lease.release());
  }
  for (const std::string &name : names)
    EXPECT_GT(take(name), 0);
}

TEST_F(Pooled, SessionLocksAreRefused) {
  // C01.
  Client client{pooler_->conninfo()};
  EXPECT_THROW((void)client.advisory_lock(fresh("session")), unsupported_rung);
  EXPECT_THROW((void)client.try_advisory_lock(fresh("session")), unsupported_rung);
  EXPECT_THROW(Mutex(client, fresh("session"), Rung::advisory_session()), unsupported_rung);
  EXPECT_NO_THROW(Mutex(client, fresh("session"), Rung::lease()));
  EXPECT_EQ(ask("SELECT count(*) FROM gatepost.advisory_locks"), "0");
}

TEST_F(Pooled, LocksOfATransactionWork) {
  Client client{pooler_->conninfo()};
  const std::string name = fresh("xact");
  client.with_lock(name, [&](Transaction &) { EXPECT_EQ(take(name), 0); });
  EXPECT_GT(take(name), 0);
}

TEST_F(Pooled, WaitingWorksAndTheOperatorIsTold) {
  // C03.
  Log log;
  Client client{pooler_->conninfo(), {.log = log.hook()}};
  const std::string name = fresh("listen");
  const std::int64_t token = take(name);
  auto waiting = std::async(std::launch::async, [&] { return client.acquire(name, 30s).token(); });
  if (!ask("SELECT to_regprocedure('gatepost.lease_queue(text, uuid, interval, interval, text, jsonb)')").empty()) {
    EXPECT_TRUE(eventually([&] { return client.notifications_arrive() == false; }));
    EXPECT_TRUE(log.has("notifications do not arrive"));
  }
  give(name, token);
  EXPECT_EQ(waiting.wait_for(patience()), std::future_status::ready);
}

} // namespace
} // namespace gatepost::test
