// One of many leads. The next begins only when this one's work has stopped, or its deadline has passed.
#include <gatepost/gatepost.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() {
  gatepost::Client client{""};
  std::promise<void> elected;
  gatepost::LeaderElection election{client, "scheduler",
                                    [&](const gatepost::Lease &, std::stop_token stop) {
                                      std::cout << "leading" << std::endl;
                                      elected.set_value();
                                      while (!stop.stop_requested())
                                        std::this_thread::sleep_for(10ms);
                                      std::cout << "work has stopped" << std::endl;
                                    },
                                    {.ttl = 10s, .owner = "host-1"}};
  elected.get_future().wait();
  std::cout << "leader: " << election.observe()->owner << std::endl;
  election.resign();
  std::cout << "leads: " << std::boolalpha << election.is_leader() << std::endl;
}
