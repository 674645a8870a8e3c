// For the tests of programs that use the library: a server in memory, and a clock that stands still until it is moved.
//
//   gatepost::FakeServer server;
//   gatepost::Client client{server.factory(), server.options()};
//   auto lease = client.acquire("report", 30s);
//   server.supersede("report");   // or refuse(true) and advance(31s)
//   server.advance(11s);          // the next renewal is due, and hears of it within a few milliseconds
//
// The client is the real one, with its threads. The server knows leases, permits, yield requests and advisory locks of
// a session; fences, transactions and queues it does not have.
#pragma once

#include <gatepost/client.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace gatepost {
inline namespace v0 {

/// All members may be called by any threads at once. Clients may outlive it.
class GATEPOST_API FakeServer {
public:
  FakeServer();
  ~FakeServer();
  FakeServer(const FakeServer &) = delete;
  FakeServer &operator=(const FakeServer &) = delete;

  ConnectionFactory factory() const;
  /// With its clock.
  ClientOptions options() const;

  boot_clock::time_point now() const noexcept;
  /// Moves the clock of server and clients; threads of clients notice within a few milliseconds.
  void advance(Duration time);

  /// While true: connections break, and none is to be had.
  void refuse(bool refuse);
  /// The name, in full, is granted to somebody else: the holder is superseded, and the name stays busy until free().
  Token supersede(const Name &name);
  /// An administrator takes the lease away.
  void take_away(const Name &name);
  void free(const Name &name);
  void request_yield(const Name &name, const std::string &reason);
  bool is_held(const Name &name) const;
  /// How often a lease of the name was renewed.
  unsigned renewals(const Name &name) const;

  struct Memory;

private:
  std::shared_ptr<Memory> memory_;
};

} // namespace v0
} // namespace gatepost
