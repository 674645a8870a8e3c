// The fencing token of a grant.
#pragma once

#include <gatepost/export.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace gatepost {
inline namespace v0 {

/// Drawn at each grant, greater than every earlier token of its name. A type of its own, so that no other number is
/// passed where a token is due. Copying and comparing are noexcept.
class Token {
public:
  static constexpr std::int64_t highest = (std::int64_t{1} << 53) - 1;

  /// Throws error (22023) unless value is between 1 and highest.
  GATEPOST_API explicit Token(std::int64_t value);

  std::int64_t value() const noexcept { return value_; }
  friend auto operator<=>(Token, Token) noexcept = default;

private:
  std::int64_t value_;
};

inline std::string to_string(Token token) { return std::to_string(token.value()); }

} // namespace v0
} // namespace gatepost
