// The throwaway server that PGHOST and so on name, as tests look at it past the library.
#pragma once

#include <gatepost/gatepost.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gatepost::test {

using namespace std::chrono_literals;

/// A name that no other test has.
std::string fresh(const std::string &stem);

/// One statement on a connection of its own; the first value, or "" for NULL.
std::string ask(const std::string &sql, const std::vector<Value> &parameters = {});

/// Makes the extension, and what a server that is older than the library does not have yet.
void prepare();

/// Leases that are to last: renewed after 3 s, and lost when the test or the server stands still for 5 s more.
constexpr std::chrono::seconds lasting{9};

/// How many leases and permits are held whose names begin so, by anybody: by the last word of those who have committed,
/// since one that is just being renewed is held too.
int held_below(const std::string &stem);
/// Is the name held by anybody?
bool is_held(const std::string &name);
/// Waits for a renewal that this guard has heard of. False: it has been lost.
bool is_renewed(const Grant &guard);
/// The same of each of them.
bool are_renewed(const std::vector<Lease> &guards);
/// Takes the name away from its holder, if it has one.
void break_lease(const std::string &name);
/// Takes the name from outside the library; 0 when busy.
std::int64_t take(const std::string &name, const std::string &ttl = "1 min");
void give(const std::string &name, std::int64_t token);
/// The server's deadline of a token, in boot_clock.
boot_clock::time_point server_deadline(const std::string &name, Token token);
/// Ends the sessions with this application_name; how many.
int terminate(const std::string &application);
std::vector<int> backends(const std::string &application);

/// A client's clock that goes ahead of the server's when a test says so: what is to come by time comes without waiting,
/// and with all the time that a busy machine needs.
class AheadClock final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override { return boot_clock::now() + ahead_.load(); }
  std::chrono::nanoseconds nap() const noexcept override { return std::chrono::milliseconds{10}; }
  void advance(std::chrono::nanoseconds by) { ahead_ = ahead_.load() + by; }

private:
  std::atomic<std::chrono::nanoseconds> ahead_{};
};

/// Threads that the library has in this process.
std::size_t library_threads();

/// What this process has not freed at its end is no leak: it is its parent's.
void leave_leaks();

/// How long what should come is waited for. Less when it should not, since a promise is left out.
std::chrono::milliseconds patience();

/// A role that may use the schema gatepost, and nothing in it, while it lives.
class Role {
public:
  explicit Role(const std::string &stem);
  ~Role();
  Role(const Role &) = delete;
  Role &operator=(const Role &) = delete;
  /// Between double quotes.
  const std::string &quoted() const noexcept { return quoted_; }
  std::string conninfo(const std::string &application) const;

private:
  const std::string name_, quoted_;
};

/// True as soon as the condition is; false when it is not within the time.
bool eventually(const std::function<bool()> &condition, std::chrono::milliseconds time = patience());

/// To the server itself, under a name that the sessions can be found by.
std::string direct(const std::string &application);

/// A log hook's memory.
class Log {
public:
  LogHook hook();
  bool has(const std::string &part) const;
  std::string text() const;

private:
  struct Lines;
  std::shared_ptr<Lines> lines_ = make();
  static std::shared_ptr<Lines> make();
};

} // namespace gatepost::test
