#include "foreground.hpp"

#include "mutant.hpp"

#include <cerrno>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

int open_terminal() noexcept {
  if (mutant("input_is_the_terminal"))
    return tcgetpgrp(STDIN_FILENO) < 0 ? -1 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (const int file = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY); file >= 0)
    return file;
  // Some containers have a terminal, but not by that name.
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (tcgetpgrp(file) >= 0)
      return fcntl(file, F_DUPFD_CLOEXEC, 3);
  return -1;
}

bool leads_to_a_program(int file) noexcept {
  struct stat status;
  return fstat(file, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool is_alive(pid_t group) noexcept { return kill(-group, 0) == 0 || errno != ESRCH; }

/// Has a signal of these come that nobody has taken yet?
bool is_asked_for() noexcept {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGTTIN) == 1 || sigismember(&pending, SIGTTOU) == 1;
}

} // namespace

Foreground::Foreground() noexcept
    : file_{open_terminal()}, for_one_{there() && tcgetpgrp(STDIN_FILENO) >= 0 && !leads_to_a_program(STDOUT_FILENO) &&
                                       !leads_to_a_program(STDERR_FILENO)} {}

Foreground::~Foreground() {
  if (there())
    close(file_);
}

pid_t Foreground::group() const noexcept { return there() ? tcgetpgrp(file_) : -1; }

bool Foreground::ours() const noexcept { return group() == getpgrp(); }

void Foreground::lend(pid_t group) noexcept {
  if (ours() && !mutant("terminal_kept") && tcsetpgrp(file_, group) == 0)
    borrower_ = group;
}

void Foreground::take_back() noexcept {
  if (borrower_ == 0)
    return;
  // Somebody else has it when a shell has stopped the script that this program is part of; or a group that the
  // command has made, and that has died with it.
  const pid_t group = this->group();
  if ((group == borrower_ || (group > 0 && !is_alive(group) && !mutant("heirs_forgotten")) ||
       mutant("terminal_stolen")) &&
      !mutant("terminal_not_returned"))
    tcsetpgrp(file_, getpgrp());
  borrower_ = 0;
  if (ours() && is_asked_for())
    kill(0, SIGCONT);
}

} // namespace gatepost::cli
