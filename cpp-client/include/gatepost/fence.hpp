// Tokens in the caller's own transactions.
//
// Each function takes anything that can execute a statement: gatepost::Transaction; a driver's own, with its adapter
// (<gatepost/pqxx.hpp>, <gatepost/libpq.hpp>); any other, with a StatementTraits of its own.
#pragma once

#include <gatepost/grant.hpp>
#include <gatepost/transaction.hpp>

#include <array>
#include <span>
#include <string>

namespace gatepost {
inline namespace v0 {

/// To be specialised: runs a statement with text parameters in the transaction, and returns the first value of the
/// first row, or NULL. Errors of class LG should be thrown by throw_for(), others are the driver's own.
template <typename Executor> struct StatementTraits;

template <> struct StatementTraits<Transaction> {
  static Value execute(Transaction &transaction, const char *sql, std::span<const Value> parameters) {
    return transaction.execute(sql, parameters).first();
  }
};

/// From here to the end of the transaction, writes to the tables that the lease protects are let in, and nobody else is
/// granted it. To be called before the first such write. `live`: refuse a lease that has lapsed, though nobody has
/// taken it. Throws lease_lost when the guard knows that it is lost, stale_token when the server does; then the
/// transaction is lost.
template <typename Executor> void use(Executor &transaction, const Grant &grant, bool live = false) {
  grant.require();
  const std::array<Value, 3> parameters{grant.name().text(), to_string(grant.token()), live ? "true" : "false"};
  StatementTraits<Executor>::execute(transaction, "SELECT gatepost.fence_use($1, $2::bigint, $3::boolean)", parameters);
}

/// Changes one row, and marks it with the token. `key` and `changes` are JSON objects of columns. True: done. False:
/// there is no such row. Throws lease_lost, stale_token as use().
template <typename Executor>
[[nodiscard]] bool fenced_update(Executor &transaction, const std::string &table, const std::string &key,
                                 const std::string &changes, const Grant &grant,
                                 const std::string &fence_column = "fence") {
  grant.require();
  const std::array<Value, 5> parameters{table, key, changes, to_string(grant.token()), fence_column};
  return StatementTraits<Executor>::execute(
             transaction, "SELECT gatepost.fenced_update($1::regclass, $2::jsonb, $3::jsonb, $4::bigint, $5::name)",
             parameters) == "t";
}

/// The advisory lock of a name until the end of the transaction; waits for it. The name is the server's, without a
/// client's prefix.
template <typename Executor> void advisory_lock(Executor &transaction, const Name &name) {
  const std::array<Value, 1> parameters{name.text()};
  StatementTraits<Executor>::execute(transaction, "SELECT gatepost.advisory_xact_lock($1)", parameters);
}
/// Without waiting. False: busy.
template <typename Executor> [[nodiscard]] bool try_advisory_lock(Executor &transaction, const Name &name) {
  const std::array<Value, 1> parameters{name.text()};
  return StatementTraits<Executor>::execute(transaction, "SELECT gatepost.try_advisory_xact_lock($1)", parameters) ==
         "t";
}

} // namespace v0
} // namespace gatepost
