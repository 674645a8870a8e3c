// Exactly one instance runs this; the others wait for their turn.
#include <gatepost/gatepost.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

int main() {
  gatepost::Client client{""};
  std::atomic<int> running{0}, most{0};
  std::vector<std::thread> instances;
  for (int i = 0; i < 3; ++i)
    instances.emplace_back([&] {
      gatepost::Singleton singleton{client, "importer"};
      singleton.run([&](const gatepost::Lease &, std::stop_token) {
        most = std::max(most.load(), ++running);
        --running;
      });
    });
  for (std::thread &instance : instances)
    instance.join();
  std::cout << "at most " << most << " at a time\n";
}
