// A stranger's program with a connection of libpq.
#include <gatepost/fake.hpp>
#include <gatepost/gatepost.hpp>
#include <gatepost/libpq.hpp>

#include <chrono>

int main() {
  gatepost::FakeServer server;
  gatepost::Client client{server.factory(), server.options()};
  const gatepost::Lease lease = client.acquire("report", std::chrono::seconds{30});
  PGconn *connection = PQconnectdb("host=/nowhere");
  bool refused = false;
  try {
    gatepost::use(*connection, lease);
  } catch (const gatepost::error &) {
    refused = true;
  }
  PQfinish(connection);
  return refused ? 0 : 1;
}
