// A primary and its standby, which change their parts.
#include "server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace gatepost::test {
namespace {

/// Two servers, a and b; b begins as the standby of a. Programs of the server are first in PATH.
class Pair {
public:
  Pair() {
    char folder[] = "/tmp/gatepost.pair.XXXXXX";
    folder_ = mkdtemp(folder);
    quiet("initdb --no-sync --no-locale -E UTF8 -A trust -U postgres -D " + data('a'));
    std::ofstream{data('a') + "/postgresql.conf", std::ios::app} << "listen_addresses = ''\nunix_socket_directories = '"
                                                                 << folder_ << "'\nfsync = off\nport = " << port('a')
                                                                 << "\n";
    start('a');
    quiet("pg_basebackup --no-sync -c fast -R -X stream -h " + folder_ + " -p " + port('a') + " -U postgres -D " +
          data('b'));
    std::ofstream{data('b') + "/postgresql.conf", std::ios::app} << "port = " << port('b') << "\n";
    start('b');
    ask_at('a', "CREATE EXTENSION gatepost");
  }
  ~Pair() {
    for (const char server : {'a', 'b'})
      static_cast<void>(std::system(("pg_ctl -D " + data(server) + " -m immediate -w stop >/dev/null 2>&1").c_str()));
    std::filesystem::remove_all(folder_);
  }
  Pair(const Pair &) = delete;
  Pair &operator=(const Pair &) = delete;

  /// Of both, so that the primary is found.
  std::string conninfo(const std::string &application) const {
    return "host=" + folder_ + "," + folder_ + " port=" + port('a') + "," + port('b') +
           " user=postgres dbname=postgres application_name=" + application;
  }
  std::string ask_at(char server, const std::string &sql) const {
    return open_connection("host=" + folder_ + " port=" + port(server) +
                           " user=postgres dbname=postgres target_session_attrs=any connect_timeout=60")
        ->execute(sql)
        .first()
        .value_or("");
  }
  /// b becomes the primary, and a its standby.
  void switch_over() {
    if (!eventually(
            [&] { return ask_at('a', "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "1"; }))
      throw std::runtime_error{"the standby does not stream"};
    quiet("pg_ctl -D " + data('a') + " -m fast -w stop");
    quiet("pg_ctl -D " + data('b') + " -w promote");
    std::ofstream{data('a') + "/standby.signal"};
    std::ofstream{data('a') + "/postgresql.conf", std::ios::app} << "primary_conninfo = 'host=" << folder_
                                                                 << " port=" << port('b') << " user=postgres'\n";
    start('a');
  }

private:
  void quiet(const std::string &command) const {
    if (std::system((command + " >>" + folder_ + "/log 2>&1").c_str()) != 0)
      throw std::runtime_error{"failed: " + command};
  }
  void start(char server) const { quiet("pg_ctl -D " + data(server) + " -w -l " + folder_ + "/server.log start"); }
  std::string data(char server) const { return folder_ + '/' + server; }
  static std::string port(char server) { return server == 'a' ? "5433" : "5434"; }

  std::string folder_;
};

TEST(Failover, OneLeadsOnTheNewPrimary) {
  // C50, with the server that led coming back as a standby.
  Pair servers;
  std::atomic<std::int64_t> last{0};
  std::atomic<bool> rises{true}, overlap{false};
  const auto begins = [&](const Lease &lease) {
    rises = rises && lease.token().value() > last;
    last = lease.token().value();
  };
  Client one{servers.conninfo("one")}, two{servers.conninfo("two")};
  LeaderElection first{one,
                       "leader",
                       [&](const Lease &lease, std::stop_token stop) {
                         begins(lease);
                         while (!stop.stop_requested())
                           std::this_thread::sleep_for(5ms);
                       },
                       {.ttl = 2s}};
  ASSERT_TRUE(eventually([&] { return first.is_leader(); }));
  LeaderElection second{two,
                        "leader",
                        [&](const Lease &lease, std::stop_token stop) {
                          begins(lease);
                          while (!stop.stop_requested()) {
                            overlap = overlap || (first.is_leader() && lease.held());
                            std::this_thread::sleep_for(5ms);
                          }
                        },
                        {.ttl = 2s}};
  servers.switch_over();
  ASSERT_EQ(servers.ask_at('a', "SELECT pg_is_in_recovery()"), "t");
  // Held there, and no longer only taken over.
  EXPECT_TRUE(eventually([&] {
    return (first.is_leader() || second.is_leader()) &&
           servers.ask_at('b', "SELECT count(*) FROM gatepost.leases WHERE name = 'leader' AND state = 'held' AND "
                               "token = " +
                                   std::to_string(last)) == "1";
  }));
  EXPECT_FALSE(overlap);
  EXPECT_TRUE(rises);
}

TEST(Failover, AServerThatIsReadOnlyIsLeft) {
  // C50: connections that were open before, to a server that says 25006 from now on.
  const auto administrator = open_connection(direct("administrator"));
  administrator->execute("SET default_transaction_read_only = off");
  const auto set_read_only = [&](const std::string &value) {
    administrator->execute("ALTER SYSTEM SET default_transaction_read_only = " + value);
    administrator->execute("SELECT pg_reload_conf()");
  };
  const std::unique_ptr<void, std::function<void(void *)>> at_the_end{administrator.get(),
                                                                      [&](void *) { set_read_only("off"); }};
  Client client{direct("readonly"), {.call_timeout = 500ms}};
  Lease lease = client.acquire(fresh("readonly"), 2s);
  const auto can_acquire = [&] {
    try {
      return client.try_acquire(fresh("other"), 30s).has_value();
    } catch (const unavailable &) {
      return false;
    } catch (const unknown_outcome &) {
      return false;
    }
  };
  ASSERT_TRUE(eventually(can_acquire));
  set_read_only("on");
  EXPECT_TRUE(eventually([&] { return !can_acquire(); }));
  EXPECT_TRUE(eventually([&] { return lease.state() == State::lost; }));
  EXPECT_EQ(lease.loss(), Loss::expired);
  set_read_only("off");
  EXPECT_TRUE(eventually(can_acquire));
}

} // namespace
} // namespace gatepost::test
