// A stranger's program: compiles, links, and runs without a server.
#include <gatepost/fake.hpp>
#include <gatepost/gatepost.hpp>

#include <chrono>

int main() {
  gatepost::FakeServer server;
  gatepost::Client client{server.factory(), server.options()};
  return client.acquire("report", std::chrono::seconds{30}).held() ? 0 : 1;
}
