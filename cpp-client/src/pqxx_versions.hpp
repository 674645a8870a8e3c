// The one place that knows how libpqxx 6.4, 7 and 8 differ.
#pragma once

#include <pqxx/pqxx>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gatepost::inline v0::detail {

#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
#define GATEPOST_PQXX_EXEC_TAKES_PARAMS
#define GATEPOST_PQXX_HANDLERS
#endif

// Runs a statement with parameters: integers, strings, or nullptr for NULL.
template <typename... Argument>
pqxx::result ask(pqxx::transaction_base &transaction, const char *sql, const Argument &...argument) {
#ifdef GATEPOST_PQXX_EXEC_TAKES_PARAMS
  return transaction.exec(sql, pqxx::params{argument...});
#else
  return transaction.exec_params(sql, argument...);
#endif
}

// The same with parameters that are counted when it runs; an empty one is NULL.
inline pqxx::result ask_with_values(pqxx::transaction_base &transaction, const std::string &sql,
                                    std::span<const std::optional<std::string>> values) {
#if PQXX_VERSION_MAJOR >= 7
  pqxx::params parameters;
  parameters.reserve(values.size());
  for (const auto &value : values)
    if (value)
      parameters.append(std::string_view{*value});
    else
      parameters.append();
#ifdef GATEPOST_PQXX_EXEC_TAKES_PARAMS
  return transaction.exec(sql, parameters);
#else
  return transaction.exec_params(sql, parameters);
#endif
#else
  std::vector<const char *> parameters;
  parameters.reserve(values.size());
  for (const auto &value : values)
    parameters.push_back(value ? value->c_str() : nullptr);
  return transaction.exec_params(sql, pqxx::prepare::make_dynamic_params(parameters));
#endif
}

// libpqxx 6 replaces a lost connection behind the program's back, and the session's locks are gone with the old one.
inline void stay_on_one_connection([[maybe_unused]] pqxx::connection &connection) {
#if PQXX_VERSION_MAJOR < 7
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
#endif
}

// libpqxx 6 and 7 drop the SQLSTATE of some errors that they have classes for.
inline std::string sqlstate_of(const pqxx::sql_error &error) {
  std::string sqlstate{error.sqlstate()};
  if (sqlstate.empty() && dynamic_cast<const pqxx::insufficient_privilege *>(&error) != nullptr)
    sqlstate = "42501";
  else if (sqlstate.empty() && dynamic_cast<const pqxx::syntax_error *>(&error) != nullptr)
    sqlstate = "42601";
  return sqlstate;
}

// Remembers that the server has sent a warning. Severities are translated, so all but those below a warning count.
inline bool is_warning(std::string_view message) noexcept {
  for (const std::string_view lower : {"NOTICE", "INFO", "LOG", "DEBUG"})
    if (message.starts_with(lower))
      return false;
  return true;
}

#ifdef GATEPOST_PQXX_HANDLERS
class Notices {
public:
  explicit Notices(pqxx::connection &connection) {
    connection.set_notice_handler(
        [this](pqxx::zview message) noexcept { warned = warned || is_warning(std::string_view{message.c_str()}); });
  }
  bool warned = false;
};
#else
class Notices final : public pqxx::errorhandler {
public:
  explicit Notices(pqxx::connection &connection) : pqxx::errorhandler{connection} {}
  bool operator()(const char *message) noexcept override {
    warned = warned || is_warning(message);
    return false;
  }
  bool warned = false;
};
#endif

// Listens on a channel from listen() on, and adds what it hears.
#ifdef GATEPOST_PQXX_HANDLERS
struct Receiver {
  std::string channel;
};
inline std::unique_ptr<Receiver> listen(pqxx::connection &connection, const std::string &channel,
                                        std::vector<std::string> &heard) {
  connection.listen(channel, [&heard](pqxx::notification notification) {
    heard.emplace_back(std::string_view{notification.channel.c_str()});
  });
  return std::make_unique<Receiver>(Receiver{channel});
}
inline void unlisten(pqxx::connection &connection, Receiver &receiver) { connection.listen(receiver.channel); }
#else
class Receiver final : public pqxx::notification_receiver {
public:
  Receiver(pqxx::connection &connection, const std::string &channel, std::vector<std::string> &heard)
      : pqxx::notification_receiver{connection, channel}, heard_{heard} {}
  void operator()(const std::string &, int) override { heard_.push_back(channel()); }

private:
  std::vector<std::string> &heard_;
};
inline std::unique_ptr<Receiver> listen(pqxx::connection &connection, const std::string &channel,
                                        std::vector<std::string> &heard) {
  return std::make_unique<Receiver>(connection, channel, heard);
}
inline void unlisten(pqxx::connection &, Receiver &) {}
#endif

} // namespace gatepost::inline v0::detail
