// The throwaway server that PGHOST and so on name, as tests look at it past the library.
#pragma once

#include <gatepost/gatepost.hpp>

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

/// Is the name held by anybody?
bool is_held(const std::string &name);
/// Takes the name from outside the library; 0 when busy.
std::int64_t take(const std::string &name, const std::string &ttl = "1 min");
void give(const std::string &name, std::int64_t token);
/// The server's deadline of a token, in boot_clock.
boot_clock::time_point server_deadline(const std::string &name, Token token);
/// Ends the sessions with this application_name; how many.
int terminate(const std::string &application);
std::vector<int> backends(const std::string &application);

/// True as soon as the condition is; false when it is not within the time.
bool eventually(const std::function<bool()> &condition, std::chrono::milliseconds time = 10s);

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
