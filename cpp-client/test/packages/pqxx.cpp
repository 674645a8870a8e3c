// A stranger's program with a transaction of its own: what it calls of libpqxx is its own to link.
#include <gatepost/fake.hpp>
#include <gatepost/gatepost.hpp>
#include <gatepost/pqxx.hpp>

#include <chrono>

int main() {
  gatepost::FakeServer server;
  gatepost::Client client{server.factory(), server.options()};
  const gatepost::Lease lease = client.acquire("report", std::chrono::seconds{30});
  try {
    pqxx::connection connection{"host=/nowhere"};
    pqxx::work transaction{connection};
    gatepost::use(transaction, lease);
    transaction.commit();
  } catch (const pqxx::broken_connection &) {
    return 0;
  }
  return 1;
}
