#include "isolate.hpp"

#include "mutant.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

bool write_file(const char *path, const char *text) noexcept {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  const std::size_t size = std::strlen(text);
  const bool written = write(file, text, size) == static_cast<ssize_t>(size);
  close(file);
  return written;
}

} // namespace

Namespaces namespaces(bool wanted) {
  Namespaces result;
  result.wanted = wanted;
  std::snprintf(result.user_map, sizeof result.user_map, "%u %u 1\n", geteuid(), geteuid());
  std::snprintf(result.group_map, sizeof result.group_map, "%u %u 1\n", getegid(), getegid());
  return result;
}

pid_t clone_process(unsigned long flags) noexcept {
  return static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

pid_t clone_isolated(Namespaces &namespaces) noexcept {
  const pid_t process = clone_process(CLONE_NEWPID | CLONE_NEWNS);
  if (process >= 0 || errno != EPERM)
    return process;
  namespaces.user = true;
  return clone_process(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
}

bool enter_namespaces(const Namespaces &namespaces) noexcept {
  if (namespaces.user) {
    // Without the first line a map of groups is not allowed; where there is no such file it is not needed.
    write_file("/proc/self/setgroups", "deny");
    if (!write_file("/proc/self/uid_map", namespaces.user_map) ||
        !write_file("/proc/self/gid_map", namespaces.group_map))
      return false;
  }
  // What is mounted outside still arrives; what the command mounts stays inside.
  if (mount(nullptr, "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  return true;
}

void be_init(pid_t command) noexcept {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  while (true) {
    int status = 0;
    const pid_t process = waitpid(-1, &status, WUNTRACED);
    if (process < 0 && errno != EINTR)
      _exit(1);
    if (process != command)
      continue;
    if (WIFSTOPPED(status)) {
      // What the terminal does to the whole group is seen from outside.
      if (WSTOPSIG(status) == SIGTSTP && !mutant("stays_stopped"))
        kill(command, SIGCONT);
      continue;
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

} // namespace gatepost::cli
