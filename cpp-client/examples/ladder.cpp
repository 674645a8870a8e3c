// One mutex, whose rung is a matter of configuration. On one name all rungs exclude each other.
#include <gatepost/gatepost.hpp>

#include <iostream>
#include <mutex>

int main() {
  gatepost::Client client{""};
  gatepost::Mutex mutex{client, "orders", gatepost::Rung::parse("advisory_session")};
  {
    const std::lock_guard lock{mutex};
    std::cout << "a session's lock: " << std::boolalpha << mutex.held() << '\n';
    std::cout << "a lease beside it: " << client.try_acquire("orders").has_value() << '\n';
  }
  // While it runs: the next lock is a lease, with a token for fences.
  mutex.change_rung(gatepost::Rung::lease());
  {
    const std::lock_guard lock{mutex};
    std::cout << "a token: " << (mutex.lease()->token().value() > 0) << '\n';
  }
  // What a rung cannot do fails here, not at night.
  try {
    mutex.change_rung(gatepost::Rung::advisory_transaction());
  } catch (const gatepost::unsupported_rung &refused) {
    std::cout << refused.what() << '\n';
  }
  // That rung is for lock, work and commit in one.
  client.with_lock("orders", [](gatepost::Transaction &transaction) { transaction.execute("SELECT 1"); });
}
