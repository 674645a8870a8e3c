// The token goes with every write, in the caller's own transaction; here one of libpqxx.
#include <gatepost/gatepost.hpp>
#include <gatepost/pqxx.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  pqxx::connection connection;
  {
    pqxx::work setup{connection};
    setup.exec("CREATE TABLE report (id int PRIMARY KEY, body text)");
    setup.exec("INSERT INTO report VALUES (1, 'empty')");
    setup.exec("SELECT gatepost.fence_protect('report', lease => 'report')");
    setup.commit();
  }
  gatepost::Client client{""};
  gatepost::Lease lease = client.acquire("report", 30s);
  {
    pqxx::work transaction{connection};
    use(transaction, lease);
    transaction.exec("UPDATE report SET body = 'by the holder' WHERE id = 1");
    transaction.commit();
  }
  std::cout << "the holder has written\n";

  // Somebody else is granted the name, and this guard has not heard of it yet.
  client.execute("SELECT gatepost.lease_break('report')");
  const gatepost::Lease next = client.acquire("report", 30s);
  try {
    pqxx::work transaction{connection};
    use(transaction, lease);
    std::cout << "never here\n";
  } catch (const gatepost::stale_token &stale) {
    std::cout << "refused: " << stale.sqlstate() << '\n';
  }
}
