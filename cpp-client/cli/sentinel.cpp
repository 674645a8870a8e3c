#include "sentinel.hpp"

#include "failure.hpp"
#include "isolate.hpp"
#include "mutant.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

/// After fork(): only what is safe in a signal handler may be called.
[[noreturn]] void watch(pid_t parent) {
  if (!mutant("sentinel_outlives"))
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  prctl(PR_SET_NAME, "gatepost-tty");
  // A connection that this program closes is closed.
  syscall(SYS_close_range, 0U, ~0U, 0U);
  sigset_t others;
  sigfillset(&others);
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    ::signal(signal, SIG_DFL);
    sigdelset(&others, signal);
  }
  sigprocmask(SIG_SETMASK, &others, nullptr);
  while (true)
    pause();
}

} // namespace

Sentinel::Sentinel() {
  const pid_t parent = getpid();
  process_ = clone_process(0);
  if (process_ == 0)
    watch(parent);
  if (process_ < 0)
    throw Failure{internal, std::string{"no process is to be had: "} + std::strerror(errno)};
}

Sentinel::~Sentinel() {
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Sentinel::join(pid_t group) noexcept { setpgid(process_, group); }

int Sentinel::stopped() noexcept {
  siginfo_t information{};
  if (waitid(P_PID, static_cast<id_t>(process_), &information, WSTOPPED | WNOHANG) != 0 || information.si_pid == 0)
    return 0;
  kill(process_, SIGCONT);
  return information.si_status;
}

} // namespace gatepost::cli
