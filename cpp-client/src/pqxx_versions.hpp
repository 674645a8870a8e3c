// The one place that knows how libpqxx 6.4, 7 and 8 differ.
#pragma once

#include <pqxx/pqxx>

namespace gatepost::detail {

// Runs a statement with parameters: integers, strings, or nullptr for NULL.
template <typename... Argument>
pqxx::result ask(pqxx::transaction_base &transaction, const char *sql, const Argument &...argument) {
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
  return transaction.exec(sql, pqxx::params{argument...});
#else
  return transaction.exec_params(sql, argument...);
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

} // namespace gatepost::detail
