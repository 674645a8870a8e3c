// What is thrown. All of it derives from gatepost::error.
//
//   stale_token       LG001: a later grant exists. The work must stop
//   lease_lost        a guard was used after its loss; reason() says which
//   unknown_outcome   the answer was lost and could not be had again in time: it may or may not have happened
//   unavailable       no answer, and nothing has happened: no connection, or no thread
//   unsupported_rung  the rung cannot do what is asked of it, here
//   error             everything else the server or the library refuses, by sqlstate()
#pragma once

#include <gatepost/export.hpp>
#include <gatepost/loss.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace gatepost {
inline namespace v0 {

class GATEPOST_API error : public std::runtime_error {
public:
  error(const std::string &message, std::string_view sqlstate);
  ~error() override;
  /// Five characters, as in docs/errors.md; the server's, or the one it would have used. Never empty.
  const char *sqlstate() const noexcept { return sqlstate_; }

private:
  char sqlstate_[6];
};

class GATEPOST_API stale_token : public error {
public:
  using error::error;
  ~stale_token() override;
};

class GATEPOST_API lease_lost : public error {
public:
  lease_lost(std::string_view name, Loss reason);
  ~lease_lost() override;
  Loss reason() const noexcept { return reason_; }

private:
  Loss reason_;
};

class GATEPOST_API unknown_outcome : public error {
public:
  using error::error;
  ~unknown_outcome() override;
};

class GATEPOST_API unavailable : public error {
public:
  using error::error;
  ~unavailable() override;
};

class GATEPOST_API unsupported_rung : public error {
public:
  explicit unsupported_rung(const std::string &message);
  ~unsupported_rung() override;
};

/// Throws what belongs to a SQLSTATE: stale_token, unavailable, or error.
[[noreturn]] GATEPOST_API void throw_for(std::string_view sqlstate, const std::string &message);

} // namespace v0
} // namespace gatepost
