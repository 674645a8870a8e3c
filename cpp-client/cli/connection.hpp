// Connections as psql's: PG* variables, service files, connection strings, and the options -d, -h, -p, -U.
#pragma once

#include <gatepost/connection.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace gatepost::cli {

struct ConnectOptions {
  std::string dbname{}, host{}, port{}, user{};
  std::string application = "gatepost";
  /// How long an answer may take; 0: as long as it takes.
  std::chrono::nanoseconds patience = std::chrono::seconds{10};
};

/// Whether a standby will do.
enum class Access { read_write, read_only };

/// Where neither string, service nor variable says otherwise: gives up after 3 s a host, takes the primary when it is
/// to write, and keepalives find a dead server. Changes the environment, so it is called before there are threads.
void set_connection_defaults(Access access);

/// Throws unavailable. Of the connection, execute() throws that too when no answer comes within the patience; the
/// connection is of no use then.
std::unique_ptr<Connection> open(const ConnectOptions &options);

/// Of a connection from open(), from now on.
void set_patience(Connection &connection, std::chrono::nanoseconds patience);

/// As Connection::execute, for a call that may have to be made again: while a transaction that is changing the row, or
/// has its lock, is in the way, it is, for the patience of the options.
Rows ask(Connection &connection, const ConnectOptions &options, const std::string &sql,
         std::span<const Value> parameters);

/// The first of a program: throws Failure by what is wrong, no server, no right, no extension or another version.
/// `before` may be something to do with it before the extension is looked at.
std::unique_ptr<Connection> open_checked(const ConnectOptions &options,
                                         const std::function<void(Connection &)> &before = {});

/// That the extension is there and fits; else throws Failure.
void check_extension(Connection &connection);

} // namespace gatepost::cli
