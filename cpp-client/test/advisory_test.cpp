// Locks of a session and of a transaction.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatepost::test {
namespace {

TEST(Advisory, ASessionsLock) {
  Client client{direct("session")};
  const std::string name = fresh("session");
  auto lock = client.try_advisory_lock(name);
  ASSERT_TRUE(lock);
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(lock->state(), State::held);
  EXPECT_NO_THROW(lock->check());
  EXPECT_FALSE(client.try_advisory_lock(name));
  EXPECT_FALSE(client.try_acquire(name));
  AdvisoryLock moved = std::move(*lock);
  EXPECT_FALSE(lock->held());
  EXPECT_EQ(lock->state(), State::released);
  EXPECT_TRUE(moved.release());
  EXPECT_EQ(moved.state(), State::released);
  EXPECT_FALSE(moved.release());
  EXPECT_EQ(moved.name(), Name{name});
  EXPECT_FALSE(moved.held());
  EXPECT_THROW(moved.check(), unavailable);
  EXPECT_TRUE(client.try_acquire(name));
}

TEST(Advisory, IsLostWithItsConnection) {
  Log log;
  Client client{direct("cutlock"), {.log = log.hook()}};
  const std::string name = fresh("cutlock");
  AdvisoryLock lock = client.advisory_lock(name);
  EXPECT_GT(terminate("cutlock"), 0);
  EXPECT_TRUE(eventually([&] { return !lock.held(); }));
  EXPECT_EQ(lock.state(), State::lost);
  EXPECT_THROW(lock.check(), unavailable);
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(log.has("was not held when it was released"));
}

TEST(Advisory, AResetIsSeen) {
  Proxy proxy{std::getenv("PGHOST")};
  std::atomic<int> socket{-1};
  Client client{[&] {
    auto connection = open_connection(proxy.conninfo("reset"));
    socket = connection->socket();
    return connection;
  }};
  AdvisoryLock lock = client.advisory_lock(fresh("reset"));
  const int of_lock = socket;
  Mutex mutex{client, fresh("reset"), Rung::advisory_session()};
  mutex.lock();
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(mutex.held());
  proxy.reset();
  // Seen the first time that it is looked for: whoever reads a socket's error takes it away.
  for (const int file : {of_lock, socket.load()}) {
    pollfd arrived{file, 0, 0};
    ASSERT_EQ(poll(&arrived, 1, static_cast<int>(patience().count())), 1);
  }
  EXPECT_FALSE(lock.held());
  EXPECT_FALSE(mutex.held());
}

/// With TLS, for which a server has to listen on TCP.
class TlsServer {
public:
  TlsServer() {
    char folder[] = "/tmp/gatepost.tls.XXXXXX";
    folder_ = mkdtemp(folder);
    port_ = free_port();
    quiet("initdb --no-sync --no-locale -E UTF8 -A trust -U postgres -D " + data());
    quiet("openssl req -new -x509 -nodes -days 2 -subj /CN=localhost -newkey rsa:2048 -keyout " + data() +
          "/server.key -out " + data() + "/server.crt");
    std::filesystem::permissions(data() + "/server.key",
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::ofstream{data() + "/postgresql.conf", std::ios::app}
        << "listen_addresses = '127.0.0.1'\nunix_socket_directories = '" << folder_ << "'\nport = " << port_
        << "\nssl = on\nfsync = off\n";
    quiet("pg_ctl -D " + data() + " -w -l " + folder_ + "/server.log start");
    other_ = open_connection(conninfo("other"));
    other_->execute("CREATE EXTENSION gatepost");
  }
  ~TlsServer() {
    other_.reset();
    static_cast<void>(std::system(("pg_ctl -D " + data() + " -m immediate -w stop >/dev/null 2>&1").c_str()));
    std::filesystem::remove_all(folder_);
  }
  TlsServer(const TlsServer &) = delete;
  TlsServer &operator=(const TlsServer &) = delete;

  std::string conninfo(const std::string &application) const {
    return "host=127.0.0.1 sslmode=require user=postgres dbname=postgres connect_timeout=60 port=" + port_ +
           " application_name=" + application;
  }
  Connection &other() { return *other_; }

private:
  static std::string free_port() {
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool known = bind(file, reinterpret_cast<sockaddr *>(&address), size) == 0 &&
                       getsockname(file, reinterpret_cast<sockaddr *>(&address), &size) == 0;
    close(file);
    return known ? std::to_string(ntohs(address.sin_port)) : "";
  }
  void quiet(const std::string &command) const {
    if (std::system((command + " >>" + folder_ + "/log 2>&1").c_str()) != 0)
      throw std::runtime_error{"failed: " + command};
  }
  std::string data() const { return folder_ + "/data"; }

  std::string folder_, port_;
  std::unique_ptr<Connection> other_;
};

TEST(Advisory, TheEndIsSeenBehindTls) {
  TlsServer server;
  Client client{server.conninfo("tls")};
  AdvisoryLock lock = client.advisory_lock("tls");
  EXPECT_TRUE(lock.held());
  EXPECT_NO_THROW(lock.check());
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(
      server.other()
          .execute("SELECT pg_terminate_backend(a.pid, 60000) FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)"
                   " WHERE s.ssl AND a.application_name = 'tls'")
          .first(),
      "t");
  EXPECT_TRUE(eventually([&] { return !lock.held(); }));
}

/// The server stands still from the moment on that a statement with this text is sent, until it is let go on.
struct StandingStill {
  Proxy proxy{std::getenv("PGHOST")};
  std::mutex mutex;
  std::string at;

  ConnectionFactory factory() {
    return [this] {
      return std::make_unique<Wrapped>(open_connection(proxy.conninfo("still")),
                                       [this](const std::string &sql, std::span<const Value>) {
                                         const std::lock_guard lock{mutex};
                                         if (!at.empty() && sql.find(at) != std::string::npos)
                                           proxy.stall(true);
                                       });
    };
  }
  void stand_still_at(const std::string &text) {
    proxy.stall(false);
    const std::lock_guard lock{mutex};
    at = text;
  }
};

TEST(Advisory, NoCallWaitsForAServerThatStandsStill) {
  StandingStill still;
  Client client{still.factory(), {.call_timeout = 1s}};
  std::stop_source stop;
  const auto locked = [&](const char *at) {
    const bool rolls_back = at == std::string{"ROLLBACK"};
    (void)client.with_lock(fresh("still"), stop.get_token(), [&](Transaction &) {
      if (rolls_back)
        throw std::logic_error{"the work's"};
    });
  };
  const std::vector<std::pair<const char *, std::function<void(const char *)>>> calls{
      {"pg_backend_pid", [&](const char *) { (void)client.advisory_lock(fresh("still")); }},
      {"try_advisory_lock", [&](const char *) { (void)client.try_advisory_lock(fresh("still")); }},
      {"try_advisory_lock", [&](const char *) { (void)client.advisory_lock_for(fresh("still"), 300ms); }},
      {"set_config", [&](const char *) { (void)client.advisory_lock(fresh("still"), stop.get_token()); }},
      {"BEGIN", locked},
      {"set_config", locked},
      {"COMMIT", locked},
      {"ROLLBACK", locked},
  };
  for (const auto &[at, call] : calls) {
    still.stand_still_at(at);
    auto calling = std::async(std::launch::async, [&, at = at, &call = call] { call(at); });
    const bool ended = calling.wait_for(patience()) == std::future_status::ready;
    still.stand_still_at("");
    ASSERT_TRUE(ended) << at;
    if (at == std::string{"COMMIT"})
      EXPECT_THROW(calling.get(), unknown_outcome);
    else if (at == std::string{"ROLLBACK"})
      EXPECT_THROW(calling.get(), std::logic_error);
    else
      EXPECT_THROW(calling.get(), unavailable) << at;
  }
}

TEST(Advisory, AWaitHasItsEnd) {
  Client client{direct("lockwait")};
  const std::string name = fresh("lockwait");
  const std::int64_t token = take(name);
  const auto begun = boot_clock::now();
  EXPECT_FALSE(client.advisory_lock_for(name, 300ms));
  EXPECT_GE(boot_clock::now() - begun, 300ms);
  EXPECT_FALSE(client.advisory_lock_for(name, -1s));
  auto waiting = std::async(std::launch::async, [&] { return client.advisory_lock_for(name, patience()).has_value(); });
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout);
  give(name, token);
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(client.advisory_lock_for(name, 0s));
}

TEST(Advisory, AWaitStopsWhenAsked) {
  // On this side at once; on the server's within about a second. For a lease, and for another's lock.
  const std::string led = fresh("lockstop"), locked = fresh("lockstop");
  ASSERT_GT(take(led), 0);
  Client holder{direct("lockholder")}, client{direct("lockstop")};
  const AdvisoryLock lock = holder.advisory_lock(locked);
  const auto waits = [] {
    return ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockstop' AND state = 'active'") != "0";
  };
  for (const std::string &name : {led, locked})
    for (const bool session : {true, false}) {
      std::stop_source stop;
      auto waiting = std::async(std::launch::async, [&] {
        return session ? client.advisory_lock(name, stop.get_token()).has_value()
                       : client.with_lock(name, stop.get_token(), [](Transaction &) {});
      });
      EXPECT_TRUE(eventually(waits));
      EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
      stop.request_stop();
      const bool ended = waiting.wait_for(patience()) == std::future_status::ready;
      if (!ended)
        terminate("lockstop");
      ASSERT_TRUE(ended);
      EXPECT_FALSE(waiting.get());
      ASSERT_TRUE(eventually([&] { return !waits(); }));
      // Of one that was requested before, nothing is asked.
      EXPECT_FALSE(client.advisory_lock(fresh("lockstop"), stop.get_token()));
    }
  std::stop_source stop;
  EXPECT_TRUE(client.advisory_lock(fresh("lockstop"), stop.get_token()));
  EXPECT_TRUE(client.with_lock(fresh("lockstop"), stop.get_token(), [](Transaction &) {}));
}

TEST(Advisory, NoNewSessionComesInItsPlace) {
  // libpqxx 6.4 would connect again behind the program's back.
  const auto connection = open_connection(direct("replaced"));
  EXPECT_GT(terminate("replaced"), 0);
  for (int i = 0; i < 4; ++i)
    EXPECT_THROW(connection->execute("SELECT 1"), unavailable);
  for (int i = 0; i < 4; ++i)
    EXPECT_THROW(connection->listen("channel" + std::to_string(i)), unavailable);
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

TEST(Advisory, WorkThatThrowsIsRolledBack) {
  Client client{direct("rolled")};
  const std::string name = fresh("rolled");
  ask("CREATE TABLE IF NOT EXISTS ledger (name text, n int)");
  EXPECT_THROW(client.with_lock(name,
                                [&](Transaction &transaction) {
                                  transaction.execute("INSERT INTO ledger VALUES ($1, 1)", {name});
                                  throw std::logic_error{"the work's"};
                                }),
               std::logic_error);
  EXPECT_GT(take(name), 0);
  // The connection is good for whatever comes next, and nothing comes back with it.
  EXPECT_EQ(client.execute("SELECT count(*) FROM ledger WHERE name = $1", std::vector<Value>{name}).first(), "0");
  EXPECT_EQ(backends("rolled").size(), 1u);
}

} // namespace
} // namespace gatepost::test
