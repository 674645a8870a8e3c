// gatepost/fence.hpp with the transactions of libpqxx 6.4 to 8. The one public header that needs libpqxx.
#pragma once

#include <gatepost/fence.hpp>

#include <pqxx/pqxx>

#include <concepts>
#include <string>
#include <vector>

#if PQXX_VERSION_MAJOR < 6 || (PQXX_VERSION_MAJOR == 6 && PQXX_VERSION_MINOR < 4)
#error "gatepost/pqxx.hpp needs libpqxx 6.4 or later"
#endif

namespace gatepost {
inline namespace v0 {

/// Throws gatepost's errors for class LG, and libpqxx's own for all else.
template <std::derived_from<pqxx::transaction_base> Transaction> struct StatementTraits<Transaction> {
  static Value execute(pqxx::transaction_base &transaction, const char *sql, std::span<const Value> values) {
    try {
      const pqxx::result answer = run(transaction, sql, values);
      if (answer.empty() || answer.columns() == 0 || answer[0][0].is_null())
        return {};
      return answer[0][0].template as<std::string>();
    } catch (const pqxx::sql_error &error) {
      const std::string sqlstate{error.sqlstate()};
      if (sqlstate.starts_with("LG"))
        throw_for_report(sqlstate, error.what());
      throw;
    }
  }

private:
  static pqxx::result run(pqxx::transaction_base &transaction, const char *sql, std::span<const Value> values) {
#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)
    pqxx::params parameters;
    for (const Value &value : values)
      parameters.append(value);
    return transaction.exec(sql, parameters);
#elif PQXX_VERSION_MAJOR == 7
    pqxx::params parameters;
    for (const Value &value : values)
      parameters.append(value);
    return transaction.exec_params(sql, parameters);
#else
    std::vector<const char *> parameters;
    for (const Value &value : values)
      parameters.push_back(value ? value->c_str() : nullptr);
    return transaction.exec_params(sql, pqxx::prepare::make_dynamic_params(parameters));
#endif
  }
};

} // namespace v0
} // namespace gatepost
