// One client, many threads. The part that runs under the thread sanitizer.
#include "server.hpp"

#include <gatepost/pqxx.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

namespace gatepost::test {
namespace {

int rounds() {
  const char *wanted = std::getenv("GATEPOST_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 200;
}

TEST(Threads, NothingIsLeftAfterManyRounds) {
  // C83: taken and given back at once, and waits that are stopped.
  std::atomic<int> renewals{0}, failures{0};
  Client client{direct("rounds"), {.metric = [&](std::string_view metric, double value, std::string_view) {
                  if (metric == "gatepost.client.renewals")
                    renewals += static_cast<int>(value);
                }}};
  const std::string stem = fresh("rounds");
  (void)client.acquire_for(stem, 0s, 1s);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random{static_cast<unsigned>(t)};
      for (int i = 0; i < rounds(); ++i)
        try {
          const std::string name = stem + std::to_string(random() % 12);
          if (random() % 4 == 0) {
            std::stop_source stop;
            std::thread stopper{[&stop, pause = random() % 5] {
              std::this_thread::sleep_for(std::chrono::milliseconds{pause});
              stop.request_stop();
            }};
            (void)client.acquire(name, stop.get_token(), 1s);
            stopper.join();
          } else {
            (void)client.try_acquire(name, 1s);
          }
        } catch (const unavailable &late) {
          // On a busy machine the grant may come too late.
          if (late.sqlstate() == std::string_view{"57014"})
            continue;
          ADD_FAILURE() << late.what();
          ++failures;
        } catch (const std::exception &error) {
          ADD_FAILURE() << error.what();
          ++failures;
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(held_below(stem), 0);
  const int then = renewals;
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(renewals, then);
  // Renewing, watching, listening; and this one.
  EXPECT_TRUE(eventually([] { return library_threads() <= 4; }));
}

TEST(Threads, TheUsersConnectionIsTheUsers) {
  // C90: a long transaction on it, while the client renews on another.
  Client client{direct("users")};
  pqxx::connection connection;
  pqxx::work transaction{connection};
  std::vector<Lease> leases;
  for (int i = 0; i < 10; ++i)
    leases.push_back(client.acquire(fresh("users"), lasting));
  for (const Lease &lease : leases) {
    EXPECT_NO_THROW(transaction.exec("SELECT pg_sleep(0.1)"));
    EXPECT_NO_THROW(use(transaction, lease));
  }
  EXPECT_TRUE(are_renewed(leases));
  EXPECT_NO_THROW(transaction.commit());
}

TEST(Threads, GuardsAreReadMovedAndEndedAnywhere) {
  // C90.
  Client client{direct("anywhere")};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < std::min(rounds(), 30); ++i) {
        std::optional<Lease> lease;
        try {
          lease = client.try_acquire(fresh("anywhere"), 400ms);
        } catch (const unavailable &) {
          // On a busy machine the grant may come too late.
          continue;
        }
        ASSERT_TRUE(lease);
        std::atomic<bool> stop{false};
        std::vector<std::thread> readers;
        for (int r = 0; r < 2; ++r)
          readers.emplace_back([&] {
            while (!stop) {
              (void)lease->held();
              (void)lease->state();
              (void)lease->deadline();
            }
          });
        std::this_thread::sleep_for(std::chrono::milliseconds{i % 7 * 20});
        stop = true;
        for (std::thread &reader : readers)
          reader.join();
        std::thread{[moved = std::move(*lease)]() mutable { (void)moved.release(); }}.join();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Threads, LossAndReleaseAtOnce) {
  Client client{direct("race")};
  for (int i = 0; i < std::min(rounds(), 40); ++i) {
    std::atomic<int> calls{0};
    const std::string name = fresh("race");
    std::optional<Lease> lease{client.acquire(name, 400ms, {.on_lost = [&](Loss) { ++calls; }})};
    std::thread breaker{[&] { break_lease(name); }};
    std::this_thread::sleep_for(std::chrono::milliseconds{i});
    lease.reset();
    const int then = calls;
    breaker.join();
    EXPECT_EQ(calls, then);
    EXPECT_LE(calls, 1);
  }
}

TEST(Threads, AMutexExcludesThreads) {
  Client client{direct("mutex")};
  Mutex mutex{client, fresh("mutex")};
  int inside = 0, entered = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const std::lock_guard lock{mutex};
        EXPECT_EQ(++inside, 1);
        ++entered;
        --inside;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(entered, 40);
}

} // namespace
} // namespace gatepost::test
