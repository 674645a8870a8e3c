// What a client needs of a connection to the server. The library brings one (open_connection); a pool, or another
// driver, is brought in by a factory.
#pragma once

#include <gatepost/export.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gatepost {
inline namespace v0 {

/// A value in the server's text form; without one, NULL.
using Value = std::optional<std::string>;

/// A statement's answer.
struct Rows {
  std::vector<std::vector<Value>> rows;
  /// The server has sent a WARNING along. What was to be committed is then not known to be on disk.
  bool warned = false;

  /// The first value of the first row; without one, NULL.
  Value first() const { return rows.empty() || rows[0].empty() ? Value{} : rows[0][0]; }
};

/// One session of the server. Used by one thread at a time, abort() excepted. Destroying it closes the session, or
/// gives it back to the pool that it came from, which should reset it (DISCARD ALL) if it was listening, and drop it if
/// it broke.
class GATEPOST_API Connection {
public:
  virtual ~Connection();

  /// Runs one statement, which commits by itself unless BEGIN has opened a block; must not prepare it under a name.
  /// Throws error with the server's SQLSTATE, or unavailable when the connection is lost, also if the statement may
  /// have been run. A lost connection must stay lost: a new session in its place has none of the old one's locks.
  virtual Rows execute(const std::string &sql, std::span<const Value> parameters = {}) = 0;

  /// Registers for a channel. Throws as execute.
  virtual void listen(const std::string &channel) = 0;
  virtual void unlisten(const std::string &channel) = 0;
  /// The channels that were notified since the last call; does not wait.
  virtual std::vector<std::string> notifications() = 0;

  /// The socket, for waiting until there may be notifications; -1 when there is none to be had.
  virtual int socket() const noexcept = 0;
  /// The process id that the server gave at connecting; 0 when not known.
  virtual int backend_pid() const noexcept = 0;
  /// Makes a running or later execute() fail soon. From any thread.
  virtual void abort() noexcept = 0;
};

/// Opens or lends a connection, and throws unavailable when it cannot. Called from several threads at once.
using ConnectionFactory = std::function<std::unique_ptr<Connection>()>;

/// Connects by the driver that the library is built with. Where the string says nothing else: keepalives and
/// tcp_user_timeout, so that a dead server is noticed; connect_timeout 3 s; target_session_attrs=read-write, so that of
/// several hosts the primary is found; and the program's name as application_name, which PGAPPNAME and the string
/// itself come before. Throws unavailable.
GATEPOST_API std::unique_ptr<Connection> open_connection(const std::string &conninfo);

} // namespace v0
} // namespace gatepost
