// Lost answers: settled by the request id, or unknown.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gatepost/fake.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace gatepost::test {
namespace {

/// Gives a client with little time for a call its connection, which on a busy machine may take more than one try.
void warm(Client &client) {
  EXPECT_TRUE(eventually([&] {
    try {
      return client.try_acquire(fresh("warm"), 30s).has_value();
    } catch (const error &) {
      return false;
    }
  }));
}

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
  warm(client);
  proxy.stall(true);
  EXPECT_THROW((void)client.try_acquire(fresh("unsettled"), 30s), unknown_outcome);
}

TEST(Unknown, WhatWasSentMayHaveHappened) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("sent"), {.call_timeout = 2s}};
  Lease lease = client.acquire(fresh("sent"), 30s), detached = client.acquire(fresh("sent"), 30s);
  const std::string name = detached.name().text();
  const Token token = detached.detach();
  proxy.stall(true);
  EXPECT_THROW((void)lease.release(), unknown_outcome);
  EXPECT_EQ(lease.state(), State::released);
  proxy.stall(false);
  // A call that takes longer than it may; and one whose answer is thrown away.
  EXPECT_THROW((void)client.execute("SELECT pg_sleep(60)"), unknown_outcome);
  EXPECT_EQ(client.execute("SELECT 1").first(), "1");
  proxy.lose_next_answer();
  EXPECT_THROW((void)client.execute("SELECT 1"), unknown_outcome);
  EXPECT_TRUE(proxy.has_lost());
  EXPECT_EQ(client.execute("SELECT 1").first(), "1");
  proxy.lose_next_answer();
  EXPECT_THROW((void)client.request_yield(name, "x"), unknown_outcome);
  // What only reads has done nothing.
  LeaderElection election{client, fresh("sent"), [](const Lease &, std::stop_token) {}};
  election.resign();
  EXPECT_EQ(client.execute("SELECT 1").first(), "1");
  proxy.lose_next_answer();
  EXPECT_THROW((void)election.observe(), unavailable);
  Lease adopted = client.adopt(name, token);
  EXPECT_TRUE(adopted.release());
}

TEST(Unknown, ALostReleaseThatCannotBeAskedForAgainIsUnknown) {
  // Sent once, and then there is no connection to be had.
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("gonerel"), {.call_timeout = 1s}};
  Lease lease = client.acquire(fresh("gonerel"), 30s);
  proxy.stall(true);
  auto releasing = std::async(std::launch::async, [&] { return lease.release(); });
  EXPECT_EQ(releasing.wait_for(300ms), std::future_status::timeout);
  proxy.refuse(true);
  proxy.cut();
  proxy.stall(false);
  EXPECT_THROW((void)releasing.get(), unknown_outcome);
}

TEST(Unknown, ACommitWhoseAnswerIsLost) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("lostcommit")};
  ask("CREATE TABLE IF NOT EXISTS commits (name text)");
  const std::string name = fresh("lostcommit");
  EXPECT_THROW(client.with_lock(name,
                                [&](Transaction &transaction) {
                                  transaction.execute("INSERT INTO commits VALUES ($1)", {name});
                                  proxy.lose_next_answer();
                                }),
               unknown_outcome);
  EXPECT_TRUE(proxy.has_lost());
  EXPECT_EQ(ask("SELECT count(*) FROM commits WHERE name = $1", {name}), "1");
}

TEST(Unknown, WorkThatHasFailedIsNotCommitted) {
  Client client{direct("failedwork")};
  ask("CREATE TABLE IF NOT EXISTS failed (name text PRIMARY KEY)");
  const std::string name = fresh("failedwork");
  const auto count = [&] { return ask("SELECT count(*) FROM failed WHERE name = $1", {name}); };
  const auto work = [&](const char *before, const char *after) {
    return [&, before, after](Transaction &transaction) {
      transaction.execute("INSERT INTO failed VALUES ($1)", {name});
      transaction.execute(before);
      EXPECT_THROW(transaction.execute("INSERT INTO failed VALUES ($1)", {name}), error);
      if (after != nullptr)
        transaction.execute(after);
    };
  };
  try {
    client.with_lock(name, work("SAVEPOINT one", nullptr));
    ADD_FAILURE() << "said to be committed";
  } catch (const error &error) {
    EXPECT_EQ(std::string_view{error.sqlstate()}, "25P02");
  }
  EXPECT_EQ(count(), "0");
  client.with_lock(name, work("SAVEPOINT one", "ROLLBACK TO one"));
  EXPECT_EQ(count(), "1");
}

TEST(Unknown, AWaitThatEndsBeforeAnAnswerIsNotBusy) {
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("unheard"), {.call_timeout = 500ms}};
  warm(client);
  proxy.stall(true);
  EXPECT_THROW((void)client.acquire_for(fresh("unheard"), 100ms, 30s), unknown_outcome);
}

TEST(Unknown, ACommitThatComesWithAWarning) {
  // Of whatever sort, since which of them say that it is not on disk is the server's affair.
  Client client{direct("warnedcommit")};
  ask("CREATE TABLE IF NOT EXISTS warned (name text)");
  ask("CREATE OR REPLACE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RAISE WARNING 'at commit'; RETURN NULL; END$$");
  ask("DROP TRIGGER IF EXISTS warn ON warned");
  ask("CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON warned DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
      " EXECUTE FUNCTION warn()");
  const std::string name = fresh("warnedcommit");
  EXPECT_THROW(
      client.with_lock(
          name, [&](Transaction &transaction) { transaction.execute("INSERT INTO warned VALUES ($1)", {name}); }),
      unknown_outcome);
}

TEST(Unknown, OneLossIsTakenAsThatOfAllIdleConnections) {
  Client client{direct("idle")};
  std::vector<std::future<void>> calls;
  for (int i = 0; i < 3; ++i)
    calls.push_back(std::async(std::launch::async, [&] { (void)client.execute("SELECT pg_sleep(0.5)"); }));
  for (auto &call : calls)
    call.get();
  EXPECT_EQ(backends("idle").size(), 3u);
  EXPECT_EQ(terminate("idle"), 3);
  EXPECT_THROW((void)client.execute("SELECT 1"), unknown_outcome);
  EXPECT_NO_THROW((void)client.execute("SELECT 1"));
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
  const auto waits = [](const std::string &application) {
    return ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = $1",
               {application}) != "0";
  };
  const auto cancel = [](const std::string &application) {
    ask("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = $1",
        {application});
  };
  // The server's processes hear of the setting one after another: when one commit waits, the next does.
  std::atomic<bool> probed{false};
  std::thread probe{[&] {
    const auto connection = open_connection(direct("probe"));
    while (!probed)
      connection->execute("SELECT gatepost.lease_acquire($1, '1 s')", std::vector<Value>{fresh("probe")});
  }};
  EXPECT_TRUE(eventually([&] { return waits("probe"); }));
  probed = true;
  cancel("probe");
  probe.join();
  std::atomic<bool> granted{false};
  std::thread worker{[&] {
    auto lease = client.try_acquire(name, 30s);
    granted = lease.has_value();
  }};
  EXPECT_TRUE(eventually([&] { return waits("warned"); }));
  cancel("warned");
  EXPECT_TRUE(eventually([&] { return log.has("the server sent a warning with the grant"); }));
  EXPECT_FALSE(granted);
  ask("ALTER SYSTEM RESET synchronous_standby_names");
  ask("SELECT pg_reload_conf()");
  worker.join();
  EXPECT_TRUE(granted);
}

/// Answers one statement, "SELECT 1", only when it has been cut.
struct Cut : Wrapped {
  struct Story {
    std::atomic<bool> answered{false};
    std::atomic<int> reused{0};
  };
  Cut(std::unique_ptr<Connection> inner_, Story &story_) : Wrapped{std::move(inner_)}, story{story_} {}
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    story.reused += aborted;
    if (sql == "SELECT 1" && !story.answered.exchange(true)) {
      EXPECT_TRUE(eventually([&] { return aborted.load(); }));
    }
    return Wrapped::execute(sql, parameters);
  }
  void abort() noexcept override { aborted = true; }
  Story &story;
  std::atomic<bool> aborted{false};
};

TEST(Unknown, AConnectionThatWasCutBesideItsAnswerIsNotUsedAgain) {
  FakeServer server;
  Cut::Story story;
  ClientOptions options = server.options();
  options.call_timeout = 500ms;
  Client client{[&] { return std::make_unique<Cut>(server.factory()(), story); }, options};
  // On a busy machine the time is over before it is sent.
  const auto answered = [&](const char *sql) {
    return eventually([&] {
      try {
        return client.execute(sql).first() == "1";
      } catch (const unavailable &) {
        return false;
      }
    });
  };
  EXPECT_TRUE(answered("SELECT 1"));
  EXPECT_TRUE(answered("SELECT pg_backend_pid()"));
  EXPECT_EQ(story.reused, 0);
}

TEST(Unknown, WhatHasNoConnectionInTimeIsNotSent) {
  FakeServer server;
  std::atomic<int> sent{0};
  ClientOptions options = server.options();
  options.call_timeout = 500ms;
  boot_clock::time_point over{};
  Client client{[&] {
                  EXPECT_TRUE(eventually([&] { return boot_clock::now() > over; }));
                  return std::make_unique<Wrapped>(server.factory()(), [&](auto &&...) { ++sent; });
                },
                options};
  over = boot_clock::now() + 1s;
  EXPECT_THROW(client.execute("SELECT 1"), unavailable);
  EXPECT_EQ(sent, 0);
}

TEST(Unknown, ASessionThatTheServerEndedForIdlenessIsReplaced) {
  std::atomic<int> opened{0};
  FakeServer server;
  Client client{[&] {
                  return std::make_unique<Wrapped>(server.factory()(), [first = ++opened == 1](auto &&...) {
                    if (first)
                      throw_for("57P05", "terminating connection due to idle-session timeout");
                  });
                },
                server.options()};
  EXPECT_TRUE(client.try_acquire("x"));
  EXPECT_GT(opened, 1);
}

} // namespace
} // namespace gatepost::test
