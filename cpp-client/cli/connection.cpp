#include "connection.hpp"

#include "connect_failure.hpp"
#include "duration.hpp"
#include "failure.hpp"
#include "libpq_result.hpp"
#include "mutant.hpp"

#include <gatepost/clock.hpp>
#include <gatepost/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

namespace gatepost::cli {

namespace {

/// By libpq itself: its errors come in parts, and its options are psql's. Once there is a connection nothing blocks, so
/// that a server that is frozen, or gone without a word, is waited for no longer than the patience.
class LibpqConnection final : public Connection {
public:
  LibpqConnection(const ConnectParameters &parameters, std::chrono::nanoseconds patience)
      : connection_{PQconnectdbParams(parameters.keywords.data(), parameters.values.data(), 1)}, patience_{patience} {
    if (connection_ == nullptr || PQstatus(connection_) != CONNECTION_OK) {
      const std::string message = one_line(connection_ != nullptr ? PQerrorMessage(connection_) : "out of memory");
      PQfinish(connection_);
      throw unavailable{message, "08001"};
    }
    PQsetNoticeReceiver(connection_, note, this);
    PQsetnonblocking(connection_, 1);
    socket_ = PQsocket(connection_);
  }
  LibpqConnection(const LibpqConnection &) = delete;
  LibpqConnection &operator=(const LibpqConnection &) = delete;
  ~LibpqConnection() override {
    {
      const std::lock_guard lock{socket_mutex_};
      socket_ = -1;
    }
    PQfinish(connection_);
  }

  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    warned_ = false;
    std::vector<const char *> values;
    for (const Value &value : parameters)
      values.push_back(value ? value->c_str() : nullptr);
    if (PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                          nullptr, 0) == 0)
      throw unavailable{one_line(PQerrorMessage(connection_)), "08006"};
    const Result answer = answered();
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
      fail(answer.get());
    Rows rows;
    for (int row = 0; row < PQntuples(answer.get()); ++row) {
      std::vector<Value> &fields = rows.rows.emplace_back();
      for (int column = 0; column < PQnfields(answer.get()); ++column)
        fields.push_back(PQgetisnull(answer.get(), row, column) != 0
                             ? Value{}
                             : Value{std::string{PQgetvalue(answer.get(), row, column),
                                                 static_cast<std::size_t>(PQgetlength(answer.get(), row, column))}});
    }
    rows.warned = warned_;
    return rows;
  }

  void listen(const std::string &channel) override { register_for("LISTEN ", channel); }
  void unlisten(const std::string &channel) override { register_for("UNLISTEN ", channel); }

  std::vector<std::string> notifications() override {
    if (PQconsumeInput(connection_) == 0)
      throw unavailable{one_line(PQerrorMessage(connection_)), "08006"};
    std::vector<std::string> channels;
    while (PGnotify *notify = PQnotifies(connection_)) {
      channels.emplace_back(notify->relname);
      PQfreemem(notify);
    }
    return channels;
  }

  int socket() const noexcept override { return socket_; }
  int backend_pid() const noexcept override { return PQbackendPID(connection_); }

  void set_patience(std::chrono::nanoseconds patience) noexcept { patience_ = patience; }

  void abort() noexcept override {
    const std::lock_guard lock{socket_mutex_};
    if (socket_ >= 0)
      ::shutdown(socket_, SHUT_RDWR);
  }

private:
  /// The last result of the statement that was sent.
  Result answered() {
    const auto begun = boot_clock::now();
    Result last;
    do {
      if (!ready(begun))
        throw unavailable{one_line(PQerrorMessage(connection_)), "08006"};
      PGresult *next = PQgetResult(connection_);
      if (next == nullptr)
        return last;
      last.reset(next);
    } while (PQstatus(connection_) == CONNECTION_OK);
    return last;
  }

  /// Until PQgetResult has something to say without waiting. False: the connection is lost, and nobody says why.
  bool ready(boot_clock::time_point begun) {
    for (bool unsent = true;;) {
      unsent = unsent && PQflush(connection_) > 0;
      if (PQisBusy(connection_) == 0)
        return true;
      int milliseconds = -1;
      if (patience_.count() > 0 && !mutant("patience_without_end")) {
        const std::chrono::nanoseconds left = patience_ - (boot_clock::now() - begun);
        if (left.count() <= 0)
          throw unavailable{"no answer of the server within " + duration_text(patience_), "08006"};
        // That clock goes on while the machine is suspended, and poll's does not.
        milliseconds = static_cast<int>(std::min<std::int64_t>(left.count() / 1'000'000 + 1, 1000));
      }
      pollfd file{PQsocket(connection_), static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0};
      // Without a socket there is an error to be had as a result.
      if (poll(&file, 1, milliseconds) > 0 && PQconsumeInput(connection_) == 0)
        return PQisBusy(connection_) == 0 || PQsocket(connection_) < 0;
    }
  }

  [[noreturn]] void fail(const PGresult *answer) const {
    const auto field = [&](int code) {
      const char *text = PQresultErrorField(answer, code);
      return one_line(text != nullptr ? text : "");
    };
    const std::string sqlstate = field(PG_DIAG_SQLSTATE);
    std::string message = field(PG_DIAG_MESSAGE_PRIMARY);
    if (PQstatus(connection_) != CONNECTION_OK || sqlstate.empty())
      throw unavailable{message.empty() ? one_line(PQerrorMessage(connection_)) : message, "08006"};
    for (const int code : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT})
      if (const std::string more = field(code); !more.empty())
        message += (message.ends_with('.') ? " " : ". ") + more;
    throw_for(sqlstate, message);
  }

  void register_for(const char *command, const std::string &channel) {
    char *quoted = PQescapeIdentifier(connection_, channel.data(), channel.size());
    if (quoted == nullptr)
      throw error{"a channel's name is not right", "22023"};
    const std::string statement = command + std::string{quoted};
    PQfreemem(quoted);
    execute(statement, {});
  }

  static void note(void *self, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity != nullptr && std::string_view{severity} == "WARNING")
      static_cast<LibpqConnection *>(self)->warned_ = true;
  }

  PGconn *connection_;
  std::chrono::nanoseconds patience_;
  std::mutex socket_mutex_; ///< between abort() and closing, after which the number is another's
  int socket_ = -1;
  bool warned_ = false;
};

} // namespace

void set_connection_defaults(Access access) {
  ::setenv("PGCONNECT_TIMEOUT", "3", 0);
  ::setenv("PGTARGETSESSIONATTRS", access == Access::read_write ? "read-write" : "any", 0);
}

ConnectParameters::ConnectParameters(const ConnectOptions &options) {
  const auto add = [&](const char *keyword, const char *value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  // No variables exist for these. What comes later counts, so the string of dbname goes before them.
  for (const auto &[keyword, value] : {std::pair{"keepalives_idle", "5"}, std::pair{"keepalives_interval", "2"},
                                       std::pair{"keepalives_count", "3"}, std::pair{"tcp_user_timeout", "10000"}})
    add(keyword, value);
  add("fallback_application_name", options.application.c_str());
  if (!options.dbname.empty())
    add("dbname", options.dbname.c_str());
  if (!options.host.empty())
    add("host", options.host.c_str());
  if (!options.port.empty())
    add("port", options.port.c_str());
  if (!options.user.empty())
    add("user", options.user.c_str());
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
}

std::unique_ptr<Connection> open(const ConnectOptions &options) {
  return std::make_unique<LibpqConnection>(ConnectParameters{options}, options.patience);
}

void set_patience(Connection &connection, std::chrono::nanoseconds patience) {
  static_cast<LibpqConnection &>(connection).set_patience(patience);
}

Rows ask(Connection &connection, const ConnectOptions &options, const std::string &sql,
         std::span<const Value> parameters) {
  const auto begun = boot_clock::now();
  for (std::chrono::milliseconds pause{10};; pause = std::min(pause * 2, std::chrono::milliseconds{200})) {
    try {
      return connection.execute(sql, parameters);
    } catch (const unavailable &) {
      throw;
    } catch (const error &error) {
      const std::string_view sqlstate{error.sqlstate()};
      const bool in_the_way = sqlstate == "LG010" || sqlstate == "55P03" || sqlstate.starts_with("40");
      if (!in_the_way || mutant("flight_is_final") ||
          (options.patience.count() > 0 && boot_clock::now() - begun + pause >= options.patience))
        throw;
    }
    std::this_thread::sleep_for(pause);
  }
}

std::unique_ptr<Connection> open_checked(const ConnectOptions &options,
                                         const std::function<void(Connection &)> &before) {
  std::unique_ptr<Connection> connection;
  try {
    connection = open(options);
  } catch (const unavailable &error) {
    throw explain_failure(ConnectParameters{options}, error.what());
  }
  if (before)
    before(*connection);
  check_extension(*connection);
  return connection;
}

void check_extension(Connection &connection) {
  const Rows rows = connection.execute("SELECT (SELECT extversion FROM pg_catalog.pg_extension"
                                       " WHERE extname = 'gatepost'), pg_catalog.current_database()",
                                       {});
  const Value version = rows.first();
  if (!version)
    throw Failure{set_up, "database \"" + rows.rows[0][1].value_or("") +
                              "\" has no extension gatepost; an administrator creates it with gatepost init"};
  // Before 1.0 the second number counts.
  const auto family = [](std::string_view text) {
    const std::size_t first = text.find('.');
    return text.starts_with("0.") ? text.substr(0, text.find('.', first + 1)) : text.substr(0, first);
  };
  if (family(*version) != family(GATEPOST_VERSION))
    throw Failure{set_up, "the extension in database \"" + rows.rows[0][1].value_or("") + "\" is of version " +
                              *version +
                              ", this command of " GATEPOST_VERSION
                              "; update the older one, the extension with ALTER EXTENSION gatepost UPDATE"};
}

} // namespace gatepost::cli
