#include "signals.hpp"

#include "failure.hpp"
#include "mutant.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

bool asks_to_end(int signal) noexcept {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

Signals::Signals() {
  sigset_t taken;
  sigemptyset(&taken);
  // What nohup ignores would come all the same once it is blocked.
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH})
    if (!is_ignored(signal) || mutant("ignored_heard"))
      sigaddset(&taken, signal);
  // Nor does the terminal stop this program, which takes it back from other process groups.
  for (const int signal : {SIGCONT, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU})
    sigaddset(&taken, signal);
  // Where it is ignored nobody is told of the end of a command.
  if (is_ignored(SIGCHLD) && !mutant("ends_unseen"))
    ::signal(SIGCHLD, SIG_DFL);
  sigset_t blocked = taken;
  // A reader that has gone must not end it.
  sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  file_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0)
    throw Failure{internal, "no signalfd is to be had"};
}

Signals::~Signals() {
  close(file_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() noexcept {
  signalfd_siginfo information{};
  return read(file_, &information, sizeof information) == sizeof information ? static_cast<int>(information.ssi_signo)
                                                                             : 0;
}

} // namespace gatepost::cli
