// What the tests run under leases:
//   child beat FILE          writes down the boot time every few milliseconds, deaf to SIGTERM
//   child lock FILE LOG MS   takes the lock of FILE or writes "overlap" to LOG; writes its token there, stays for MS
//   child deaf BEGIN GO      ignores SIGTSTP, and waits for a child that does not
//   child late BEGIN GO      the same with a child that stops itself when told to go on: a pager, late after SIGTSTP
//   child vfork BEGIN GO     cannot be stopped while it waits for a child that it has made with vfork()
//   child pager FILE         sets up the terminal, shows two lines, shows one from the terminal, makes FILE, shows all
// The children make BEGIN, and end when there is GO.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace {

void nap(long milliseconds) {
  const timespec length{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&length, nullptr);
}

[[noreturn]] void beat(const char *path) {
  signal(SIGTERM, SIG_IGN);
  const int file = open(path, O_WRONLY | O_CREAT, 0644);
  while (true) {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const std::int64_t microseconds = now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
    char text[32];
    const int size = std::snprintf(text, sizeof text, "%020lld\n", static_cast<long long>(microseconds));
    if (pwrite(file, text, static_cast<std::size_t>(size), 0) != size)
      std::exit(2);
    nap(10);
  }
}

int lock(const char *path, const char *log_path, long milliseconds) {
  const int file = open(path, O_WRONLY | O_CREAT, 0644), log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  char text[64];
  if (flock(file, LOCK_EX | LOCK_NB) != 0)
    std::snprintf(text, sizeof text, "overlap\n");
  else
    std::snprintf(text, sizeof text, "%s\n", std::getenv("GATEPOST_TOKEN"));
  if (write(log, text, std::strlen(text)) < 0)
    return 2;
  nap(milliseconds);
  return 0;
}

void make(const char *path) { close(open(path, O_WRONLY | O_CREAT, 0644)); }

/// Also after vfork().
[[noreturn]] void await(const char *begin, const char *go) {
  make(begin);
  while (access(go, F_OK) != 0)
    nap(10);
  _exit(0);
}

/// Who was stopped before that is going on already.
void stop_after_the_others() {
  int signal = 0;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGCONT);
  sigwait(&one, &signal);
  ::signal(SIGTSTP, SIG_DFL);
  kill(getpid(), SIGTSTP);
}

int stopping(const char *kind, const char *begin, const char *go) {
  const bool forked = std::strcmp(kind, "vfork") != 0, late = std::strcmp(kind, "late") == 0;
  if (forked)
    signal(SIGTSTP, SIG_IGN);
  if (late) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGCONT);
    sigprocmask(SIG_BLOCK, &one, nullptr);
  }
  const pid_t process = forked ? fork() : vfork();
  if (process == 0) {
    if (late) {
      make(begin);
      stop_after_the_others();
    } else if (forked) {
      signal(SIGTSTP, SIG_DFL);
    }
    await(begin, go);
  }
  waitpid(process, nullptr, 0);
  std::puts("went on");
  return 0;
}

int pager(const char *path) {
  std::FILE *const terminal = std::fopen("/dev/tty", "r");
  if (terminal == nullptr)
    return 2;
  termios modes{};
  tcgetattr(fileno(terminal), &modes);
  tcsetattr(fileno(terminal), TCSANOW, &modes);
  char text[256];
  for (int i = 0; i < 2 && std::fgets(text, sizeof text, stdin) != nullptr; ++i)
    std::printf("shown: %s", text);
  std::fflush(stdout);
  if (std::fgets(text, sizeof text, terminal) != nullptr)
    std::printf("typed: %s", text);
  std::fflush(stdout);
  make(path);
  while (std::fgets(text, sizeof text, stdin) != nullptr)
    std::printf("shown: %s", text);
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  if (count == 3 && std::strcmp(arguments[1], "beat") == 0)
    beat(arguments[2]);
  if (count == 5 && std::strcmp(arguments[1], "lock") == 0)
    return lock(arguments[2], arguments[3], std::atol(arguments[4]));
  for (const char *kind : {"deaf", "late", "vfork"})
    if (count == 4 && std::strcmp(arguments[1], kind) == 0)
      return stopping(kind, arguments[2], arguments[3]);
  if (count == 3 && std::strcmp(arguments[1], "pager") == 0)
    return pager(arguments[2]);
  return 64;
}
