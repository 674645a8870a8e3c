#include "output.hpp"

#include "mutant.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gatepost::cli {

Output::Output(int file) noexcept : file_{file} {
  struct stat about {};
  if (fstat(file, &about) != 0)
    return;
  socket_ = S_ISSOCK(about.st_mode);
  regular_ = S_ISREG(about.st_mode);
  if (socket_ || regular_)
    return;
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  own_ = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

Output::~Output() {
  if (own_ >= 0)
    close(own_);
}

ssize_t Output::write(const char *data, std::size_t size) const noexcept {
  if (mutant("reader_waited_for"))
    return ::write(file_, data, size);
  if (socket_)
    return send(file_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (own_ >= 0)
    return ::write(own_, data, size);
  // What is left is asked first; a pipe that is ready takes so much.
  if (!regular_) {
    pollfd ready{file_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) {
      errno = EAGAIN;
      return -1;
    }
    size = std::min<std::size_t>(size, PIPE_BUF);
  }
  return ::write(file_, data, size);
}

} // namespace gatepost::cli
