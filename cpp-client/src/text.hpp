// Values in the server's text form.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace gatepost::inline v0::detail {

inline std::string interval_text(std::chrono::nanoseconds length) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(length).count()) + " us";
}

/// An array of text or numbers, element by element.
class ArrayText {
public:
  void add(std::string_view text) {
    separate();
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\')
        text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }
  void add(long long number) {
    separate();
    text_ += std::to_string(number);
  }
  std::string take() && { return std::move(text_ += '}'); }

private:
  void separate() {
    if (text_.size() > 1)
      text_ += ',';
  }
  std::string text_ = "{";
};

} // namespace gatepost::inline v0::detail
