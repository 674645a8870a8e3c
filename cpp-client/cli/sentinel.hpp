// A process that does nothing in the process group of a command but be stopped with it. The terminal stops a whole
// group, but only of its leader this program is told, and the leader may be the one that is not stopped: it ignores
// SIGTSTP, or waits inside the kernel for a child that was stopped between vfork() and exec.
#pragma once

#include <sys/types.h>

namespace gatepost::cli {

class Sentinel {
public:
  /// Throws Failure when it cannot be made. Called on the main thread: the kernel kills it when the thread that has
  /// made it ends.
  Sentinel();
  ~Sentinel();
  Sentinel(const Sentinel &) = delete;
  Sentinel &operator=(const Sentinel &) = delete;

  /// Before the command makes processes: what stops the group then reaches it as one of the last.
  void join(pid_t group) noexcept;
  /// The signal that has stopped it, or 0. It goes on, to be stopped again.
  int stopped() noexcept;

private:
  pid_t process_;
};

} // namespace gatepost::cli
