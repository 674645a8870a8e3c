// Signals as something to read, for run and hold.
#pragma once

#include <signal.h>

namespace gatepost::cli {

/// While it lives the signals that are passed on, those of the terminal, and SIGCHLD, are blocked here and in threads
/// that begin later, and come from file(). One for a program, made before its threads.
class Signals {
public:
  Signals();
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

  int file() const noexcept { return file_; }
  /// The next that has come; 0: none.
  int take() noexcept;
  /// As it was before, for a command that is started.
  const sigset_t &before() const noexcept { return before_; }

private:
  sigset_t before_;
  int file_;
};

bool asks_to_end(int signal) noexcept;

} // namespace gatepost::cli
