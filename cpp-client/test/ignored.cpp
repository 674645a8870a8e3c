// What is marked loses something when its result is thrown away, and the compiler says so; what is not marked is quiet.
// Compiled by ignored.sh, not run.
#include <gatepost/gatepost.hpp>

using namespace gatepost;
using namespace std::chrono_literals;

void ignore(Client &client, const Semaphore &semaphore, Lease &lease, AdvisoryLock &lock, Mutex &mutex) {
  client.try_acquire("x");                                           // lost
  client.acquire("x");                                               // lost
  client.acquire("x", std::stop_token{});                            // lost
  client.acquire_for("x", 1s);                                       // lost
  client.acquire_until("x", boot_clock::now());                      // lost
  client.acquire_until("x", std::chrono::steady_clock::now());       // lost
  client.adopt("x", Token{1});                                       // lost
  client.try_acquire(semaphore);                                     // lost
  client.acquire(semaphore);                                         // lost
  client.acquire(semaphore, std::stop_token{});                      // lost
  client.acquire_for(semaphore, 1s);                                 // lost
  client.acquire_until(semaphore, boot_clock::now());                // lost
  client.acquire_until(semaphore, std::chrono::steady_clock::now()); // lost
  client.try_advisory_lock("x");                                     // lost
  client.advisory_lock("x");                                         // lost
  lease.detach();                                                    // lost
  lease.release();                                                   // lost
  lock.release();                                                    // lost
  mutex.try_lock_for(1s);                                            // lost
  mutex.try_lock_until(std::chrono::steady_clock::now());            // lost
  client.adopt(semaphore, Token{1});                                 // lost
  client.advisory_lock("x", std::stop_token{});                      // lost
  client.advisory_lock_for("x", 1s);                                 // lost
  mutex.try_lock();                                                  // lost
  client.execute("SELECT 1");
  client.with_lease("x", [](Lease &) { return 1; });
  client.request_yield("x", "please");
}
