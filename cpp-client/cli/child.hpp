// The command that run starts: in a process group of its own, and dead when this program is.
#pragma once

#include "job_control.hpp"

#include <optional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace gatepost::cli {

struct Command {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  /// In a process namespace of its own, all of whose processes end with its first.
  bool isolate = false;
};

class Child {
public:
  /// Throws Failure when no process can be made. Called on the main thread: the kernel kills the child when the thread
  /// that has made it ends.
  Child(const Command &command, const sigset_t &mask);
  /// Kills what is left.
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  /// To the whole process group.
  void signal(int signal) noexcept;
  /// The status for the shell once it has ended; then what it has left in its group is killed. What was stopped is
  /// looked after. Throws Failure when the command could not be begun.
  std::optional<int> ended();
  JobControl &jobs() noexcept { return jobs_; }
  /// Kills the group, and waits for its end.
  int kill();

private:
  int reap() noexcept;
  void refuse_unbegun() const;

  JobControl jobs_;
  const std::string name_;
  pid_t leader_ = -1;
  int lifeline_ = -1; ///< closed before it has begun, it ends: this program is dead
  int report_ = -1;   ///< has something to say when the command could not be begun
};

} // namespace gatepost::cli
