// Of Core: advisory locks, of a transaction and of a session.
#include "core.hpp"

#include "mutant.hpp"
#include "statements.hpp"
#include "text.hpp"

#include <algorithm>

namespace gatepost::inline v0::detail {

using std::chrono::nanoseconds;

/// Calls wait(), which lets the server wait for a lock. False when stop was requested meanwhile: then the connection is
/// of no use any more, and the lock, should it have been had, goes with it.
bool Core::stoppable_wait(Connection &connection, const std::stop_token &stop, const std::function<void()> &wait) {
  try {
    const std::stop_callback stopping{stop, [&connection] {
                                        if (!mutant("lock_wait_unstopped"))
                                          connection.abort();
                                      }};
    wait();
  } catch (const unavailable &) {
    if (!stop.stop_requested())
      throw;
  }
  return !stop.stop_requested();
}

bool Core::with_lock(const Name &name, const std::stop_token &stop, const std::function<void(Transaction &)> &work) {
  check_process();
  if (stop.stop_requested())
    return false;
  std::unique_ptr<Connection> connection = pool_.take();
  bool cut = false;
  const auto ask = [&](const char *sql, std::span<const Value> values = {}) {
    const Keeper::Limit limited = limit(*connection, nanoseconds{0}, &cut);
    return connection->execute(sql, values);
  };
  const Moment give_up = patience_end();
  try {
    ask(sql::begin);
  } catch (const unavailable &) {
    // One that has been idle may have been cut; a new one tells.
    pool_.drop_idle();
    if (machine_now() >= give_up)
      throw;
    connection = pool_.take();
    ask(sql::begin);
  }
  try {
    const std::vector<Value> values{full(name).text()}, locally{"true"};
    if (stop.stop_possible() && !mutant("server_waits_on"))
      ask(sql::notice_our_end, locally);
    if (!stoppable_wait(*connection, stop, [&] { connection->execute(sql::xact_lock, values); }))
      return false;
    Transaction transaction{*connection};
    work(transaction);
    // The server ends a transaction that has failed without an error, by a rollback. Other statements it refuses there.
    if (transaction.failed_ && !mutant("failed_work_committed"))
      ask(sql::alive);
  } catch (...) {
    try {
      if (!mutant("rollback_left_out"))
        ask(sql::rollback);
      pool_.give_back(std::move(connection), cut);
    } catch (...) {
      // The connection is closed, and that rolls back too.
    }
    throw;
  }
  try {
    if (ask(sql::commit).warned && !mutant("commit_warning_ignored"))
      throw unknown_outcome{"the server sent a warning with the commit", "01000"};
  } catch (const unavailable &error) {
    if (mutant("lost_commit_is_failure"))
      throw;
    throw unknown_outcome{std::string{"the answer to the commit was lost: "} + error.what(), "08007"};
  }
  pool_.give_back(std::move(connection), cut);
  return true;
}

std::unique_ptr<Connection> Core::session() {
  check_process();
  std::unique_ptr<Connection> connection = pool_.factory()();
  const Keeper::Limit limited = limit(*connection);
  const auto asked = [&] { return std::stoi(connection->execute(sql::backend_pid).first().value_or("0")); };
  const int known = connection->backend_pid(), first = asked();
  if (((known != 0 && known != first) || first != asked()) && !mutant("pooler_unnoticed"))
    throw unsupported_rung{"a session's lock needs a connection to the server itself; there is a pooler in between"};
  return connection;
}

std::unique_ptr<Connection> Core::lock_session(const Name &name, Moment end, const std::stop_token &stop) {
  if (stop.stop_requested())
    return nullptr;
  std::unique_ptr<Connection> connection = session();
  if (stop.stop_possible() && !mutant("server_waits_on")) {
    const Keeper::Limit limited = limit(*connection);
    connection->execute(sql::notice_our_end, std::vector<Value>{"false"});
  }
  // The server's own waits are no longer.
  constexpr nanoseconds longest = std::chrono::hours{24};
  bool had = false;
  while (true) {
    const bool without_end = end == never;
    const nanoseconds left{std::max<Moment>(end - now(), 0)}, wait = std::min(left, longest);
    const bool goes_on = stoppable_wait(*connection, stop, [&] {
      if (without_end) {
        connection->execute(sql::session_lock, std::vector<Value>{name.text()});
        had = true;
        return;
      }
      const Keeper::Limit limited = limit(*connection, wait);
      had = connection->execute(sql::try_session_lock, std::vector<Value>{name.text(), interval_text(wait)}).first() ==
            "t";
    });
    if (!goes_on)
      return nullptr;
    if (had)
      return connection;
    if (left <= longest)
      return nullptr;
  }
}

} // namespace gatepost::inline v0::detail
