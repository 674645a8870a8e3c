// Why there is no connection.
#pragma once

#include "connection.hpp"
#include "failure.hpp"

#include <vector>

namespace gatepost::cli {

/// As libpq takes them. The options must outlive it.
struct ConnectParameters {
  explicit ConnectParameters(const ConnectOptions &options);
  std::vector<const char *> keywords{}, values{};
};

/// libpq keeps the SQLSTATE of a refusal to itself, but for the text of a connection that was asked to be verbose; so
/// it is asked again.
Failure explain_failure(const ConnectParameters &parameters, const std::string &message);

} // namespace gatepost::cli
