// Tokens in the caller's own transactions, of each driver.
#include "server.hpp"

#include <gatepost/libpq.hpp>
#include <gatepost/pqxx.hpp>

#include <gtest/gtest.h>

namespace {
/// Somebody's own driver.
struct Notebook {
  std::vector<std::string> statements;
};
} // namespace

template <> struct gatepost::StatementTraits<Notebook> {
  static Value execute(Notebook &notebook, const char *sql, std::span<const Value> parameters) {
    notebook.statements.push_back(sql + std::string{" "} + parameters[0].value_or("NULL"));
    return "t";
  }
};

namespace gatepost::test {
namespace {

class Fence : public testing::Test {
protected:
  void SetUp() override {
    ask("DROP TABLE IF EXISTS report, job");
    ask("CREATE TABLE report (id int PRIMARY KEY, body text)");
    ask("INSERT INTO report VALUES (1, 'empty')");
    ask("SELECT gatepost.fence_protect('report', lease => $1)", {name_});
    ask("CREATE TABLE job (id int PRIMARY KEY, state text, fence bigint)");
    ask("INSERT INTO job VALUES (1, 'new', NULL)");
  }
  static std::string body() { return ask("SELECT body FROM report WHERE id = 1"); }

  const std::string name_ = fresh("fence");
  Client client_{direct("fence")};
};

TEST_F(Fence, ByLibpqxx) {
  Lease lease = client_.acquire(name_);
  pqxx::connection connection;
  {
    pqxx::work transaction{connection};
    EXPECT_THROW(transaction.exec("UPDATE report SET body = 'none' WHERE id = 1"), pqxx::sql_error);
  }
  {
    pqxx::work transaction{connection};
    use(transaction, lease);
    transaction.exec("UPDATE report SET body = 'pqxx' WHERE id = 1");
    EXPECT_TRUE(fenced_update(transaction, "job", R"({"id": 1})", R"({"state": "done"})", lease));
    EXPECT_FALSE(fenced_update(transaction, "job", R"({"id": 2})", R"({"state": "done"})", lease));
    transaction.commit();
  }
  EXPECT_EQ(body(), "pqxx");
}

TEST_F(Fence, ByLibpq) {
  Lease lease = client_.acquire(name_);
  PGconn *connection = PQconnectdb("");
  PQclear(PQexec(connection, "BEGIN"));
  use(*connection, lease, true);
  PQclear(PQexec(connection, "UPDATE report SET body = 'libpq' WHERE id = 1"));
  PQclear(PQexec(connection, "COMMIT"));
  PQfinish(connection);
  EXPECT_EQ(body(), "libpq");
}

TEST_F(Fence, ByTheClientsOwnTransaction) {
  Lease lease = client_.acquire(name_);
  client_.with_lock(fresh("lock"), [&](Transaction &transaction) {
    use(transaction, lease);
    transaction.execute("UPDATE report SET body = $1 WHERE id = 1", {"with_lock"});
    EXPECT_TRUE(fenced_update(transaction, "job", R"({"id": 1})", R"({"state": "done"})", lease));
  });
  EXPECT_EQ(body(), "with_lock");
}

TEST_F(Fence, ByAnyDriverThatIsDescribed) {
  Lease lease = client_.acquire(name_);
  Notebook notebook;
  use(notebook, lease);
  EXPECT_TRUE(fenced_update(notebook, "job", "{}", "{}", lease));
  ASSERT_EQ(notebook.statements.size(), 2u);
  EXPECT_NE(notebook.statements[0].find("fence_use"), std::string::npos);
  EXPECT_NE(notebook.statements[0].find(name_), std::string::npos);
  EXPECT_NE(notebook.statements[1].find("fenced_update"), std::string::npos);
}

TEST_F(Fence, AStaleHolderIsRefused) {
  Lease lease = client_.acquire(name_, 1h);
  break_lease(name_);
  ASSERT_GT(take(name_), 0);
  // The guard has not been told yet; the server knows.
  ASSERT_TRUE(lease.held());
  pqxx::connection connection;
  pqxx::work transaction{connection};
  EXPECT_THROW(use(transaction, lease), stale_token);
}

TEST_F(Fence, AGuardThatKnowsItsLossIsNotUsed) {
  Lease lease = client_.acquire(name_);
  EXPECT_TRUE(lease.release());
  pqxx::connection connection;
  pqxx::work transaction{connection};
  EXPECT_THROW(use(transaction, lease), lease_lost);
  EXPECT_THROW((void)fenced_update(transaction, "job", "{}", "{}", lease), lease_lost);
  EXPECT_NO_THROW(transaction.exec("SELECT 1"));
}

TEST_F(Fence, LocksInTheCallersTransaction) {
  const std::string name = fresh("lock");
  pqxx::connection connection;
  pqxx::work transaction{connection};
  advisory_lock(transaction, name);
  EXPECT_EQ(take(name), 0);
  EXPECT_TRUE(try_advisory_lock(transaction, name));
  transaction.commit();
  EXPECT_GT(take(name), 0);
}

TEST_F(Fence, AnErrorOfTheUsersStaysTheUsers) {
  // C06 with the caller's own connection: the guard has another.
  const std::string name = fresh("user");
  pqxx::connection connection;
  try {
    const Lease lease = client_.acquire(name);
    pqxx::work transaction{connection};
    transaction.exec("SELECT 1/0");
    FAIL();
  } catch (const pqxx::sql_error &division) {
    EXPECT_EQ(division.sqlstate(), "22012");
  }
  EXPECT_GT(take(name), 0);
}

} // namespace
} // namespace gatepost::test
