// A TCP proxy before the server's socket, with the faults that networks have.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace gatepost::test {

class Proxy {
public:
  /// To a unix socket folder (PGHOST); port 5432. Clients wait until it is started.
  explicit Proxy(std::string folder, bool started = true);
  void start();
  ~Proxy();
  Proxy(const Proxy &) = delete;
  Proxy &operator=(const Proxy &) = delete;

  std::string conninfo(const std::string &application) const;

  /// Ends all connections that go through it now.
  void cut();
  /// The same with an RST, as by a middlebox or a peer that has forgotten them.
  void reset();
  /// New connections are refused while true.
  void refuse(bool refuse) { refuse_ = refuse; }
  /// Nothing is passed on while true, in both directions.
  void stall(bool stall) { stall_ = stall; }
  /// What the server says comes so much later.
  void delay(std::chrono::milliseconds time) { delay_ms_ = time.count(); }
  /// The next answer of the server is thrown away, and its connection with it.
  void lose_next_answer() { lose_ = true; }
  bool has_lost() const { return !lose_; }
  /// The server's side is told that the client has ended; the client is told nothing, and hears nothing any more.
  void half_close() { ++half_closes_; }

private:
  void run();

  const std::string folder_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false}, refuse_{false}, stall_{false}, lose_{false};
  std::atomic<long> delay_ms_{0};
  std::atomic<unsigned> cuts_{0}, half_closes_{0};
  std::atomic<bool> resetting_{false};
  std::thread thread_;
};

} // namespace gatepost::test
