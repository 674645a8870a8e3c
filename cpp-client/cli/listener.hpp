// Sockets that wait for connections at an address.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace gatepost::cli {

class File {
public:
  explicit File(int file) noexcept : file_{file} {}
  ~File() {
    if (file_ >= 0)
      close(file_);
  }
  File(File &&other) noexcept : file_{std::exchange(other.file_, -1)} {}
  File &operator=(File &&) = delete;
  int get() const noexcept { return file_; }
  int release() noexcept { return std::exchange(file_, -1); }

private:
  int file_;
};

/// At "PORT" of localhost or at "HOST:PORT", where a host of several addresses is listened at on each of them. Host *
/// is every address of the machine, port 0 any that is free. Throws Failure.
class Listener {
public:
  explicit Listener(const std::string &address);
  const std::vector<File> &files() const noexcept { return files_; }
  int port() const noexcept { return port_; }

private:
  std::vector<File> files_;
  int port_ = 0;
};

} // namespace gatepost::cli
