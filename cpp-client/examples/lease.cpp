// A lease around a piece of work: renewed while it runs, given back at the end, its loss impossible to miss.
#include <gatepost/gatepost.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  // PGHOST and so on, as psql takes them.
  gatepost::Client client{"application_name=report"};

  {
    gatepost::Lease lease = client.acquire("nightly-report", 30s,
                                           {.on_lost = [](gatepost::Loss reason) {
                                             std::cerr << "lost: " << to_string(reason) << '\n';
                                           }});
    std::cout << "held: " << std::boolalpha << lease.held() << '\n';
    // Nobody else has it meanwhile; a try is answered at once.
    std::cout << "a second one: " << client.try_acquire("nightly-report").has_value() << '\n';
    // Before a step that takes long: enough time left, or lease_lost is thrown.
    lease.require(5s);
  }
  std::cout << "afterwards: " << client.acquire_for("nightly-report", 1s).has_value() << '\n';

  // The same in one call; what the work returns is passed on.
  const int rows = client.with_lease("nightly-report", [](gatepost::Lease &lease) { return lease.held() ? 42 : 0; });
  std::cout << "rows: " << rows << '\n';
}
