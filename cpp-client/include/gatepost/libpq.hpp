// gatepost/fence.hpp with a PGconn of libpq. The one public header that needs libpq.
#pragma once

#include <gatepost/fence.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>
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
      const auto field = [&](int code) {
        const char *text = PQresultErrorField(answer.get(), code);
        return std::string{text != nullptr ? text : ""};
      };
      const std::string sqlstate = field(PG_DIAG_SQLSTATE), message = field(PG_DIAG_MESSAGE_PRIMARY);
      throw_for(sqlstate.empty() ? "08006" : sqlstate, message.empty() ? PQerrorMessage(&connection) : message,
                field(PG_DIAG_MESSAGE_DETAIL), field(PG_DIAG_MESSAGE_HINT));
    }
    if (PQntuples(answer.get()) == 0 || PQnfields(answer.get()) == 0 || PQgetisnull(answer.get(), 0, 0))
      return {};
    return PQgetvalue(answer.get(), 0, 0);
  }
};

} // namespace v0
} // namespace gatepost
