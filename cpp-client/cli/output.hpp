// Writing that never waits for the reader.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace gatepost::cli {

/// Standard output or error, as another file of its own where that can be had: whoever shares the first, as the command
/// of run does, is not to find that it does not wait any more.
class Output {
public:
  explicit Output(int file) noexcept;
  ~Output();
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  /// As write(2): -1 and EAGAIN when nothing can be taken now.
  ssize_t write(const char *data, std::size_t size) const noexcept;
  int file() const noexcept { return file_; }

private:
  const int file_;
  int own_ = -1;
  bool socket_ = false, regular_ = false;
};

} // namespace gatepost::cli
