// gatepost/fence.hpp with a PGconn of libpq. The one public header that needs libpq.
#pragma once

#include <gatepost/fence.hpp>

#include <libpq-fe.h>

#include <memory>
#include <vector>

namespace gatepost {
inline namespace v0 {

/// Throws gatepost's errors for whatever the server refuses.
template <> struct StatementTraits<PGconn> {
  static Value execute(PGconn &connection, const char *sql, std::span<const Value> values) {
    std::vector<const char *> parameters;
    for (const Value &value : values)
      parameters.push_back(value ? value->c_str() : nullptr);
    const std::unique_ptr<PGresult, void (*)(PGresult *)> answer{
        PQexecParams(&connection, sql, static_cast<int>(parameters.size()), nullptr, parameters.data(), nullptr,
                     nullptr, 0),
        PQclear};
    const ExecStatusType status = PQresultStatus(answer.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      const char *sqlstate = PQresultErrorField(answer.get(), PG_DIAG_SQLSTATE);
      throw_for(sqlstate != nullptr ? sqlstate : "08006", PQerrorMessage(&connection));
    }
    if (PQntuples(answer.get()) == 0 || PQnfields(answer.get()) == 0 || PQgetisnull(answer.get(), 0, 0))
      return {};
    return PQgetvalue(answer.get(), 0, 0);
  }
};

} // namespace v0
} // namespace gatepost
