// Owners of what libpq hands out.
#pragma once

#include <memory>

#include <libpq-fe.h>

namespace gatepost::cli {

struct ClearResult {
  void operator()(PGresult *result) const noexcept { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

} // namespace gatepost::cli
