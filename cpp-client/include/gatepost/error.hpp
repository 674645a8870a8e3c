// What is thrown. All of it derives from gatepost::error.
//
//   stale_token       LG001: a later grant exists. The work must stop
//   lease_lost        a guard was used after its loss; reason() says which
//   unknown_outcome   the answer was lost and could not be had again in time: it may or may not have happened
//   unavailable       nothing has happened: no connection, no thread, or an answer was lost that was only to be read.
//                     Statements of a Connection throw it for each answer that was lost
//   unsupported_rung  the rung cannot do what is asked of it, here
//   error             everything else the server or the library refuses, by sqlstate()
#pragma once

#include <gatepost/export.hpp>
#include <gatepost/loss.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gatepost {
inline namespace v0 {

class GATEPOST_API error : public std::runtime_error {
public:
  /// Of the texts, each becomes one line.
  error(const std::string &message, std::string_view sqlstate, std::string_view detail = {},
        std::string_view hint = {});
  error(const error &) noexcept;
  error &operator=(const error &) noexcept;
  ~error() override;
  // what(): the server's message, or the library's, in one line, without severity, detail, hint and context.
  /// Five characters, as in docs/errors.md; the server's, or the one it would have used. Never empty.
  const char *sqlstate() const noexcept { return sqlstate_; }
  /// What the server says more, in one line; empty when it says no more. Good while the error, or a copy of it, lives.
  std::string_view detail() const noexcept;
  /// What the server advises, the same way.
  std::string_view hint() const noexcept;

private:
  struct More;
  char sqlstate_[6];
  std::shared_ptr<const More> more_; ///< null: neither
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
[[noreturn]] GATEPOST_API void throw_for(std::string_view sqlstate, const std::string &message,
                                         std::string_view detail = {}, std::string_view hint = {});

/// The same with libpq's report, a text of several lines that begins with the severity ("ERROR:  .."), for drivers that
/// have nothing else. Its labels are known in English; in another language all that follows the message is detail().
[[noreturn]] GATEPOST_API void throw_for_report(std::string_view sqlstate, std::string_view report);

} // namespace v0
} // namespace gatepost
