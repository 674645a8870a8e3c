// The one source of the library that knows libpqxx.
#include "pqxx_versions.hpp"

#include <gatepost/connection.hpp>
#include <gatepost/error.hpp>

#include "conninfo.hpp"
#include "mutant.hpp"

#include <map>
#include <mutex>
#include <type_traits>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatepost {
inline namespace v0 {

namespace {

class PqxxConnection final : public Connection {
public:
  explicit PqxxConnection(const std::string &conninfo) try
      : connection_{detail::with_defaults(conninfo)}, notices_{connection_} {
    if (!detail::mutant("silent_reconnect"))
      detail::stay_on_one_connection(connection_);
    backend_pid_ = connection_.backendpid();
    // libpq gives its own number back as soon as it sees a loss, and then it is another's.
    socket_ =
        detail::mutant("socket_number_borrowed") ? connection_.sock() : ::fcntl(connection_.sock(), F_DUPFD_CLOEXEC, 0);
    if (socket_ < 0)
      throw unavailable{"no file descriptor is to be had", "53000"};
    // Statements are sent by their text, never prepared: behind a pooler the next may run on another server process.
  } catch (const pqxx::failure &error) {
    throw unavailable{error.what(), "08001"};
  } catch (const std::exception &error) {
    throw unavailable{error.what(), "08001"};
  }

  ~PqxxConnection() override {
    // libpqxx 6 and 7 would say UNLISTEN, and wait for the answer of a server that stands still.
    if (!receivers_.empty())
      abort();
    close_socket();
    receivers_.clear();
  }

  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    return guarded([&] {
      notices_.warned = false;
      pqxx::nontransaction transaction{connection_};
      const pqxx::result answer = detail::ask_with_values(transaction, sql, parameters);
      Rows rows;
      rows.rows.reserve(answer.size());
      for (const auto &row : answer) {
        std::vector<Value> &values = rows.rows.emplace_back();
        values.reserve(row.size());
        for (const auto &field : row)
          values.push_back(field.is_null() ? Value{} : Value{std::string{field.c_str(), field.size()}});
      }
      rows.warned = notices_.warned;
      return rows;
    });
  }

  void listen(const std::string &channel) override {
    guarded([&] { receivers_.emplace(channel, detail::listen(connection_, channel, heard_)); });
  }
  void unlisten(const std::string &channel) override {
    guarded([&] {
      if (const auto place = receivers_.find(channel); place != receivers_.end()) {
        detail::unlisten(connection_, *place->second);
        receivers_.erase(place);
      }
    });
  }
  std::vector<std::string> notifications() override {
    guarded([&] { connection_.get_notifs(); });
    return std::exchange(heard_, {});
  }

  int socket() const noexcept override { return socket_; }
  int backend_pid() const noexcept override { return backend_pid_; }

  void abort() noexcept override {
    const std::lock_guard lock{socket_mutex_};
    if (socket_ >= 0)
      ::shutdown(socket_, SHUT_RDWR);
  }

private:
  void close_socket() noexcept {
    const std::lock_guard lock{socket_mutex_};
    if (socket_ >= 0 && !detail::mutant("socket_number_borrowed"))
      ::close(socket_);
    socket_ = -1;
  }
  /// For good: the server hears of it too, though libpq may have its socket still.
  void lose() noexcept {
    lost_ = true;
    if (detail::mutant("socket_number_borrowed"))
      return;
    abort();
    close_socket();
  }

  /// Turns libpqxx's exceptions into the library's. After a loss nothing runs on the connection any more.
  template <typename Call> std::invoke_result_t<Call> guarded(Call &&call) {
    if (lost_ && !detail::mutant("silent_reconnect"))
      throw unavailable{"the connection has been lost", "08003"};
    try {
      if (connection_.backendpid() != backend_pid_ && !detail::mutant("silent_reconnect"))
        throw pqxx::broken_connection{"the server process behind the connection is another"};
      return call();
    } catch (const pqxx::broken_connection &error) {
      lose();
      throw unavailable{error.what(), "08006"};
    } catch (const pqxx::in_doubt_error &error) {
      lose();
      throw unavailable{error.what(), "08007"};
    } catch (const pqxx::sql_error &error) {
      const std::string sqlstate = detail::sqlstate_of(error);
      if (!connection_.is_open())
        lose();
      throw_for_report(lost_ && !sqlstate.starts_with("57P") ? "08006" : sqlstate, error.what());
#if PQXX_VERSION_MAJOR < 7
    } catch (const pqxx::deadlock_detected &error) {
      throw_for_report("40P01", error.what());
    } catch (const pqxx::serialization_failure &error) {
      throw_for_report("40001", error.what());
    } catch (const pqxx::transaction_rollback &error) {
      throw_for_report("40000", error.what());
#endif
    }
  }

  pqxx::connection connection_;
  detail::Notices notices_;
  std::map<std::string, std::unique_ptr<detail::Receiver>> receivers_;
  std::vector<std::string> heard_;
  std::mutex socket_mutex_; ///< between abort() and closing, after which the number is another's
  int socket_ = -1;         ///< libpq's by a number of our own; -1: lost
  int backend_pid_ = 0;
  bool lost_ = false;
};

} // namespace

std::unique_ptr<Connection> open_connection(const std::string &conninfo) {
  return std::make_unique<PqxxConnection>(conninfo);
}

} // namespace v0
} // namespace gatepost
