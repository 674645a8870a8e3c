// Tokens, names, lengths of time, errors.
#include "proxy.hpp"
#include "server.hpp"
#include "wrapped.hpp"

#include <gatepost/libpq.hpp>
#include <gatepost/pqxx.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gatepost::test {
namespace {

template <typename Call> std::string sqlstate_of(Call &&call) {
  try {
    call();
  } catch (const error &error) {
    return error.sqlstate();
  }
  return "none";
}

TEST(Types, TokenHasItsRange) {
  EXPECT_EQ(Token{Token::highest}.value(), 9007199254740991);
  EXPECT_EQ(sqlstate_of([] { Token{0}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Token{Token::highest + 1}; }), "22023");
  EXPECT_LT(Token{5}, Token{6});
}

TEST(Types, NameHasItsLength) {
  EXPECT_EQ(sqlstate_of([] { Name{""}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Name{std::string(1025, 'x')}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Name{std::string("a\0b", 3)}; }), "22023");
  EXPECT_EQ(Name{std::string(1024, 'x')}.text().size(), 1024u);
}

TEST(Types, TtlHasItsRange) {
  EXPECT_EQ(sqlstate_of([] { Ttl{0s}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Ttl{25h}; }), "22023");
  // In nanoseconds these would be something else.
  EXPECT_EQ(sqlstate_of([] { Ttl{std::chrono::hours{5124096}}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Ttl{std::chrono::hours::max()}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Ttl{std::chrono::duration<double>{1e30}}; }), "22023");
  EXPECT_EQ(sqlstate_of([] { Ttl{std::chrono::duration<double>{std::numeric_limits<double>::quiet_NaN()}}; }), "22023");
  EXPECT_EQ(Ttl{std::chrono::duration<double>{1.5}}.length(), 1500ms);
  EXPECT_EQ(Ttl{30s}.length(), 30s);
}

TEST(Types, DurationsOverflowNowhere) {
  using std::chrono::nanoseconds;
  static_assert(Duration{std::chrono::hours::max()} == nanoseconds::max());
  static_assert(Duration{std::chrono::hours::min()} == nanoseconds::min());
  static_assert(Duration{std::chrono::hours{2562047}} == 2562047h);
  static_assert(Duration{std::chrono::hours{2562048}} == nanoseconds::max());
  static_assert(Duration{std::chrono::hours{-2562048}} == nanoseconds::min());
  static_assert(Duration{std::chrono::microseconds{1}} == 1000ns && Duration{} == 0ns);
  static_assert(Duration{std::chrono::duration<float, std::ratio<86400>>{1e30f}} == nanoseconds::max());
  static_assert(Duration{std::chrono::duration<int, std::pico>{1500}} == 1ns);
  using Hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
  EXPECT_GT(detail::left_until(Hours::max()).count(), nanoseconds{24h * 365 * 200}.count());
  EXPECT_LT(detail::left_until(Hours::min()).count(), nanoseconds{-24h * 365 * 200}.count());
  const auto left = detail::left_until(std::chrono::steady_clock::now() + 1h);
  EXPECT_GT(left, 59min);
  EXPECT_LE(left, 1h);
}

TEST(Types, TheVersionIsThatOfTheHeaders) {
  EXPECT_EQ(version(), std::to_string(GATEPOST_VERSION_MAJOR) + "." + std::to_string(GATEPOST_VERSION_MINOR) + "." +
                           std::to_string(GATEPOST_VERSION_PATCH));
  EXPECT_EQ(GATEPOST_VERSION_NUMBER / 10000, GATEPOST_VERSION_MAJOR);
}

TEST(Types, ErrorsAreOneLineAndTheRestIsBeside) {
  const auto seen = [](auto &&call) {
    try {
      call();
    } catch (const error &error) {
      // A copy is what std::exception_ptr and others keep.
      const auto copy = error;
      return std::vector<std::string>{copy.what(), std::string{copy.detail()}, std::string{copy.hint()}};
    }
    return std::vector<std::string>{};
  };
  using Parts = std::vector<std::string>;
  const auto raise = [](const std::string &text) { return [text] { throw_for_report("22023", text); }; };
  EXPECT_EQ(seen(raise("ERROR:  no\nDETAIL:  It is so.\n  And so.\nHINT:  Do that.\nCONTEXT:  PL/pgSQL f\nline 3\n")),
            (Parts{"no", "It is so. And so.", "Do that."}));
  EXPECT_EQ(seen(raise("ERROR:  no such column\nLINE 1: SELECT x\n               ^\nHINT:  Look: there.\n")),
            (Parts{"no such column", "", "Look: there."}));
  EXPECT_EQ(seen(raise("FEHLER:  nein\nZEILE 1: x\n         ^\nTIPP:  Tu das.\n")),
            (Parts{"nein", "TIPP:  Tu das.", ""}));
  EXPECT_EQ(seen(raise("ERROR:  a: b  c\nd\n")), (Parts{"a: b  c d", "", ""}));
  EXPECT_EQ(seen(raise("")), (Parts{"", "", ""}));
  EXPECT_EQ(seen([] { throw error{"two\nlines\n", "22023"}; }), (Parts{"two lines", "", ""}));
  // By the server, on each way to it.
  const std::string sql = "DO $$BEGIN RAISE 'refused' USING DETAIL = 'A detail.', HINT = 'A hint.'; END$$";
  const Parts told{"refused", "A detail.", "A hint."};
  EXPECT_EQ(seen([&] { ask(sql); }), told);
  EXPECT_EQ(seen([] { open_connection("host=/nowhere"); })[0].find('\n'), std::string::npos);
  EXPECT_EQ(seen([&] {
              const std::unique_ptr<PGconn, void (*)(PGconn *)> connection{PQconnectdb(""), PQfinish};
              StatementTraits<PGconn>::execute(*connection, sql.c_str(), {});
            }),
            told);
  EXPECT_EQ(seen([] {
              pqxx::connection connection;
              pqxx::work transaction{connection};
              StatementTraits<pqxx::work>::execute(transaction,
                                                   "DO $$BEGIN RAISE 'refused' USING DETAIL = 'A detail.',"
                                                   " HINT = 'A hint.', ERRCODE = 'LG001'; END$$",
                                                   {});
            }),
            told);
}

TEST(Types, WhatIsNotMeantDoesNotCompile) {
  static_assert(!std::is_convertible_v<std::int64_t, Token>);
  static_assert(!std::is_convertible_v<Token, Name>);
  static_assert(!std::is_copy_constructible_v<Lease> && std::is_nothrow_move_constructible_v<Lease>);
  static_assert(std::is_nothrow_move_assignable_v<Lease> && std::is_nothrow_destructible_v<Lease>);
  static_assert(!std::is_convertible_v<Lease, Permit>);
  static_assert(noexcept(std::declval<const Lease &>().held()));
}

TEST(Types, ErrorsOfTheServerKeepTheirSqlstate) {
  EXPECT_THROW(throw_for("LG001", "x"), stale_token);
  EXPECT_THROW(throw_for("25006", "x"), unavailable);
  EXPECT_THROW(throw_for("57P01", "x"), unavailable);
  EXPECT_EQ(sqlstate_of([] { throw_for("42501", "x"); }), "42501");
  EXPECT_EQ(sqlstate_of([] { throw lease_lost("x", Loss::broken); }), "LG002");
}

TEST(Types, TheServerRefusesWithItsSqlstate) {
  Client client{direct("types")};
  EXPECT_EQ(sqlstate_of([&] { (void)client.try_acquire(fresh("json"), 30s, {.metadata = "{"}); }), "22P02");
  EXPECT_EQ(sqlstate_of([&] { client.execute("SELECT 1/0"); }), "22012");
}

TEST(Connections, NoticeADeadServer) {
  Proxy proxy{std::getenv("PGHOST")};
  const auto number = [](const Connection &connection, int level, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    getsockopt(connection.socket(), level, option, &value, &size);
    return value;
  };
  const auto connection = open_connection(proxy.conninfo("options"));
  EXPECT_EQ(number(*connection, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(number(*connection, IPPROTO_TCP, TCP_KEEPIDLE), 5);
  EXPECT_EQ(number(*connection, IPPROTO_TCP, TCP_USER_TIMEOUT), 10000);
  const auto other = open_connection(proxy.conninfo("options") + " keepalives_idle=7 tcp_user_timeout=3000");
  EXPECT_EQ(number(*other, IPPROTO_TCP, TCP_KEEPIDLE), 7);
  EXPECT_EQ(number(*other, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
}

TEST(Connections, BearTheNameOfTheProgram) {
  // It is a part of what the server makes the owner's label of.
  const auto name = [](const std::string &conninfo) {
    return open_connection(conninfo)->execute("SHOW application_name").first().value_or("");
  };
  EXPECT_EQ(name(""), program_invocation_short_name);
  EXPECT_EQ(name("postgresql://"), program_invocation_short_name);
  EXPECT_EQ(name(direct("mine")), "mine");
}

TEST(Connections, ComeFromAPoolAndGoBackThere) {
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Connection>> idle;
    int opened = 0;
  };
  struct Lent final : Wrapped {
    Lent(std::unique_ptr<Connection> inner_, std::shared_ptr<Shelf> shelf_)
        : Wrapped{std::move(inner_)}, shelf{std::move(shelf_)} {}
    ~Lent() override {
      const std::lock_guard lock{shelf->mutex};
      shelf->idle.push_back(std::move(inner));
    }
    std::shared_ptr<Shelf> shelf;
  };
  const auto shelf = std::make_shared<Shelf>();
  const ConnectionFactory lend = [shelf]() -> std::unique_ptr<Connection> {
    const std::lock_guard lock{shelf->mutex};
    if (shelf->idle.empty()) {
      ++shelf->opened;
      return std::make_unique<Lent>(open_connection(direct("shelf")), shelf);
    }
    auto connection = std::move(shelf->idle.back());
    shelf->idle.pop_back();
    return std::make_unique<Lent>(std::move(connection), shelf);
  };
  for (int i = 0; i < 3; ++i) {
    Client client{lend};
    const Lease lease = client.acquire(fresh("shelf"), 6s);
    EXPECT_TRUE(is_renewed(lease));
  }
  // One for calls and one for renewals, again and again.
  EXPECT_EQ(shelf->opened, 2);
  EXPECT_EQ(shelf->idle.size(), 2u);
}

TEST(Hooks, EachMetricIsCounted) {
  std::mutex mutex;
  std::set<std::string, std::less<>> seen;
  Proxy proxy{std::getenv("PGHOST")};
  Client client{proxy.conninfo("metrics"), {.metric = [&](std::string_view metric, double, std::string_view) {
                  const std::lock_guard lock{mutex};
                  seen.emplace(metric);
                }}};
  const std::string name = fresh("metrics");
  Lease lease = client.acquire(name, lasting);
  EXPECT_FALSE(client.try_acquire(name));
  EXPECT_TRUE(eventually([&] { return !client.acquire_for(name, 1s) && client.notifications_arrive(); }));
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_TRUE(lease.release());
  Lease lost = client.acquire(name, 1s);
  proxy.stall(true);
  EXPECT_TRUE(eventually([&] { return lost.state() == State::lost; }));
  proxy.stall(false);
  const auto all = [&] {
    const std::lock_guard lock{mutex};
    for (const char *metric : {"acquired", "busy", "released", "lost", "renewals", "renew.failures", "renew.seconds",
                               "reconnects", "notifications.arrive"})
      if (seen.count(std::string{"gatepost.client."} + metric) == 0)
        return false;
    return true;
  };
  EXPECT_TRUE(eventually(all));
}

TEST(Hooks, ReconnectsAreThoseAfterABreak) {
  std::atomic<int> reconnects{0};
  Client client{direct("reconnects"), {.metric = [&](std::string_view metric, double, std::string_view) {
                  reconnects += metric == "gatepost.client.reconnects";
                }}};
  const Lease lease = client.acquire(fresh("reconnects"), lasting);
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_EQ(reconnects, 0);
  // The one for renewals, and the one for calls.
  EXPECT_EQ(terminate("reconnects"), 2);
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_EQ(reconnects, 1);
  EXPECT_THROW(client.execute("SELECT 1"), unknown_outcome);
  EXPECT_EQ(client.execute("SELECT 1").first(), "1");
  EXPECT_EQ(reconnects, 2);
}

TEST(Types, NamesWithQuotesAreRenewed) {
  Client client{direct("quotes")};
  const std::string name = fresh("a\"b\\c{,}'d e");
  const Lease lease = client.acquire(name, lasting);
  EXPECT_TRUE(is_renewed(lease));
  EXPECT_TRUE(is_held(name));
}

TEST(Connections, TheNumberOfALostSocketIsLeftAlone) {
  // libpq closes its socket as soon as it sees the loss, and the next that is opened has its number.
  for (const bool listening : {false, true}) {
    const std::string application = "number" + std::to_string(listening);
    auto connection = open_connection(direct(application));
    if (listening)
      connection->listen("number");
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    // All the sockets that the process has.
    const auto open = [] {
      std::set<int> numbers;
      for (int number = 0; number < 1024; ++number)
        if (struct stat status; fstat(number, &status) == 0 && S_ISSOCK(status.st_mode))
          numbers.insert(number);
      return numbers;
    };
    const std::set<int> before = open();
    ASSERT_EQ(terminate(application), 1);
    EXPECT_TRUE(eventually([&] {
      try {
        connection->execute("SELECT 1", {});
        return false;
      } catch (const unavailable &) {
        return true;
      }
    }));
    const std::set<int> after = open();
    std::vector<int> freed;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(freed));
    ASSERT_FALSE(freed.empty());
    for (const int number : freed)
      dup2(ends[0], number);
    connection->abort();
    connection.reset();
    EXPECT_EQ(send(ends[1], "x", 1, MSG_NOSIGNAL), 1);
    EXPECT_EQ(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
    for (const int number : freed) {
      EXPECT_EQ(fcntl(number, F_GETFD), 0) << "closed, though it is another's";
      close(number);
    }
    close(ends[0]);
    close(ends[1]);
  }
}

} // namespace
} // namespace gatepost::test
