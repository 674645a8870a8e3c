// The name of a lease, lock or semaphore.
#pragma once

#include <gatepost/export.hpp>

#include <compare>
#include <string>
#include <string_view>

namespace gatepost {
inline namespace v0 {

/// 1 to 1,024 bytes, compared by bytes. Made from any string; a moved-from name may only be assigned to or destroyed.
class Name {
public:
  static constexpr std::size_t longest = 1024;

  /// Throws error (22023) when the text is empty, too long, or holds a zero byte.
  GATEPOST_API Name(std::string text);
  Name(std::string_view text) : Name{std::string{text}} {}
  Name(const char *text) : Name{std::string{text}} {}

  const std::string &text() const noexcept { return text_; }
  friend auto operator<=>(const Name &, const Name &) noexcept = default;

private:
  std::string text_;
};

} // namespace v0
} // namespace gatepost
