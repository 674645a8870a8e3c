// Locks of a session and of a transaction.
#include "server.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace gatepost::test {
namespace {

TEST(Advisory, ASessionsLock) {
  Client client{direct("session")};
  const std::string name = fresh("session");
  auto lock = client.try_advisory_lock(name);
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->held());
  EXPECT_NO_THROW(lock->check());
  EXPECT_FALSE(client.try_advisory_lock(name));
  EXPECT_FALSE(client.try_acquire(name));
  AdvisoryLock moved = std::move(*lock);
  EXPECT_FALSE(lock->held());
  EXPECT_TRUE(moved.release());
  EXPECT_FALSE(moved.release());
  EXPECT_TRUE(client.try_acquire(name));
}

TEST(Advisory, IsLostWithItsConnection) {
  Log log;
  Client client{direct("cutlock"), {.log = log.hook()}};
  const std::string name = fresh("cutlock");
  AdvisoryLock lock = client.advisory_lock(name);
  EXPECT_GT(terminate("cutlock"), 0);
  EXPECT_TRUE(eventually([&] { return !lock.held(); }));
  EXPECT_THROW(lock.check(), unavailable);
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(log.has("was not held when it was released"));
}

TEST(Advisory, NoNewSessionComesInItsPlace) {
  // libpqxx 6.4 would connect again behind the program's back.
  const auto connection = open_connection(direct("replaced"));
  EXPECT_GT(terminate("replaced"), 0);
  for (int i = 0; i < 4; ++i)
    EXPECT_THROW(connection->execute("SELECT 1"), unavailable);
  EXPECT_TRUE(backends("replaced").empty());
}

TEST(Advisory, LockWorkAndCommitInOne) {
  Client client{direct("withlock")};
  const std::string name = fresh("withlock");
  ask("CREATE TABLE IF NOT EXISTS ledger (name text, n int)");
  client.with_lock(name, [&](Transaction &transaction) {
    EXPECT_EQ(take(name), 0);
    transaction.execute("INSERT INTO ledger VALUES ($1, 1)", {name});
  });
  EXPECT_EQ(ask("SELECT count(*) FROM ledger WHERE name = $1", {name}), "1");
  EXPECT_FALSE(is_held(name));
  // C06: the error that arrives is the work's, and nothing stays.
  try {
    client.with_lock(name, [&](Transaction &transaction) {
      transaction.execute("INSERT INTO ledger VALUES ($1, 2)", {name});
      transaction.execute("SELECT 1/0");
    });
    FAIL();
  } catch (const error &division) {
    EXPECT_STREQ(division.sqlstate(), "22012");
  }
  EXPECT_EQ(ask("SELECT count(*) FROM ledger WHERE name = $1", {name}), "1");
  EXPECT_EQ(ask("SELECT count(*) FROM gatepost.advisory_locks"), "0");
  EXPECT_GT(take(name), 0);
}

} // namespace
} // namespace gatepost::test
