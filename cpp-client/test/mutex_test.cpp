// The ladder.
#include "server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>

namespace gatepost::test {
namespace {

TEST(Ladder, WhatARungCannotDoFailsAtTheStart) {
  Client client{direct("start")};
  EXPECT_THROW(Mutex(client, "x", Rung::advisory_transaction()), unsupported_rung);
  for (const Capability lacking :
       {Capability::fencing_token, Capability::survives_connection, Capability::through_pooler})
    EXPECT_THROW(Mutex(client, "x", Rung::advisory_session(), lacking), unsupported_rung);
  EXPECT_NO_THROW(Mutex(client, "x", Rung::lease(), Capability::fencing_token | Capability::through_pooler));
  EXPECT_THROW((void)Rung::parse("raft"), unsupported_rung);
  EXPECT_EQ(Rung::parse("lease"), Rung::lease());
  EXPECT_TRUE(capabilities(Rung::lease()).has(Capability::fencing_token));
  EXPECT_FALSE(capabilities(Rung::advisory_session()).has(Capability::through_pooler));
}

TEST(Ladder, WorksWithTheStandardsGuards) {
  Client client{direct("guards")};
  const std::string a = fresh("a"), b = fresh("b");
  Mutex one{client, a}, two{client, b, Rung::advisory_session()};
  {
    const std::scoped_lock lock{one, two};
    EXPECT_TRUE(one.held());
    EXPECT_TRUE(two.held());
    ASSERT_NE(one.lease(), nullptr);
    EXPECT_EQ(two.lease(), nullptr);
    EXPECT_EQ(take(a), 0);
    EXPECT_EQ(take(b), 0);
  }
  EXPECT_FALSE(one.held());
  std::unique_lock later{one, std::defer_lock};
  EXPECT_TRUE(later.try_lock());
  Mutex same{client, a};
  EXPECT_FALSE(same.try_lock());
  later.unlock();
  EXPECT_TRUE(same.try_lock());
  same.unlock();
}

TEST(Ladder, ALockMayHaveATimeLimit) {
  Client client{direct("timed")};
  for (const Rung rung : {Rung::lease(), Rung::advisory_session()}) {
    const std::string name = fresh("timed");
    Mutex one{client, name, rung}, other{client, name, rung};
    one.lock();
    // By another mutex of the name, and by the same one.
    for (Mutex *mutex : {&one, &other}) {
      const auto begun = std::chrono::steady_clock::now();
      EXPECT_FALSE(mutex->try_lock_for(300ms));
      EXPECT_GE(std::chrono::steady_clock::now() - begun, 300ms);
      EXPECT_FALSE(mutex->try_lock_for(-1s));
      EXPECT_FALSE(mutex->try_lock_until(begun + 600ms));
      EXPECT_GE(std::chrono::steady_clock::now() - begun, 600ms);
      EXPECT_FALSE(mutex->try_lock_until(boot_clock::now() + 100ms));
    }
    auto waiting = std::async(std::launch::async, [&] {
      const std::unique_lock lock{other, patience()};
      return lock.owns_lock();
    });
    EXPECT_EQ(waiting.wait_for(500ms), std::future_status::timeout);
    one.unlock();
    EXPECT_TRUE(waiting.get());
    EXPECT_TRUE(one.try_lock_for(std::chrono::hours::max()));
    one.unlock();
  }
}

TEST(Ladder, RungsExcludeEachOther) {
  Client client{direct("rungs")};
  const std::string name = fresh("rungs");
  Mutex session{client, name, Rung::advisory_session()}, lease{client, name, Rung::lease()};
  session.lock();
  EXPECT_FALSE(lease.try_lock());
  session.unlock();
  lease.lock();
  EXPECT_FALSE(session.try_lock());
  lease.unlock();
}

TEST(Ladder, ChangesItsRungWhileItRuns) {
  Client client{direct("change")};
  const std::string name = fresh("change");
  Mutex mutex{client, name, Rung::advisory_session()};
  mutex.lock();
  mutex.change_rung(Rung::parse("lease"));
  EXPECT_EQ(mutex.lease(), nullptr);
  mutex.unlock();
  mutex.lock();
  EXPECT_NE(mutex.lease(), nullptr);
  EXPECT_THROW(mutex.change_rung(Rung::advisory_transaction()), unsupported_rung);
  mutex.unlock();
  EXPECT_FALSE(is_held(name));
}

TEST(Ladder, UnlockAfterALossIsNotSilent) {
  Log log;
  Client client{direct("unlock"), {.log = log.hook()}};
  const std::string name = fresh("unlock");
  Mutex mutex{client, name, Rung::lease(), {}, lasting};
  mutex.lock();
  break_lease(name);
  EXPECT_TRUE(eventually([&] { return !mutex.held(); }));
  static_assert(noexcept(mutex.unlock()));
  mutex.unlock();
  EXPECT_TRUE(log.has("had been lost before it was unlocked"));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
}

} // namespace
} // namespace gatepost::test
