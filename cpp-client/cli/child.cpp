#include "child.hpp"

#include "failure.hpp"
#include "isolate.hpp"
#include "mutant.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

class Pipe {
public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Failure{internal, std::string{"no pipe is to be had: "} + std::strerror(errno)};
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  int reader() const noexcept { return ends_[0]; }
  int writer() const noexcept { return ends_[1]; }
  void close_reader() noexcept { end(0); }
  void close_writer() noexcept { end(1); }
  int release_reader() noexcept { return std::exchange(ends_[0], -1); }
  int release_writer() noexcept { return std::exchange(ends_[1], -1); }

private:
  void end(std::size_t which) noexcept {
    if (ends_[which] >= 0)
      close(std::exchange(ends_[which], -1));
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<char *> pointers(const std::vector<std::string> &texts) {
  std::vector<char *> result;
  for (const std::string &text : texts)
    result.push_back(const_cast<char *>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// What the command is started with. After fork() only what is safe in a signal handler may be called.
struct Start {
  std::vector<char *> arguments, environment;
  sigset_t mask;
  int lifeline; ///< at its end when the parent is dead
  int lifeline_writer;
  int report; ///< where errno goes
  bool gated; ///< it waits for a byte from the lifeline
  Namespaces namespaces;
};

struct Report {
  int error;
  int step; ///< 0: exec
};

[[noreturn]] void fail(const Start &start, int step) {
  const Report report{errno, step};
  [[maybe_unused]] const ssize_t written = write(start.report, &report, sizeof report);
  _exit(127);
}

[[noreturn]] void execute(const Start &start) {
  // A handler of SIGCHLD or a timer of somebody else has no say in the command.
  for (const int signal : {SIGPIPE, SIGCHLD})
    ::signal(signal, SIG_DFL);
  if (!mutant("mask_inherited"))
    sigprocmask(SIG_SETMASK, &start.mask, nullptr);
  execvpe(start.arguments[0], start.arguments.data(), start.environment.data());
  fail(start, 0);
}

[[noreturn]] void begin(const Start &start) {
  if (!mutant("outlives_the_program"))
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Had the parent died before, its end of the pipe would be closed, and no signal would come.
  close(start.lifeline_writer);
  char gate = 0;
  while (start.gated && read(start.lifeline, &gate, 1) < 0 && errno == EINTR) {
  }
  pollfd parent{start.lifeline, POLLIN, 0};
  if (poll(&parent, 1, 0) > 0)
    _exit(1);
  if (!mutant("group_shared"))
    setpgid(0, 0);
  if (!start.namespaces.wanted)
    execute(start);
  if (!enter_namespaces(start.namespaces))
    fail(start, 1);
  const pid_t first = clone_process(0);
  if (first < 0)
    fail(start, 2);
  if (first == 0)
    execute(start);
  close(start.report);
  be_init(first);
}

} // namespace

Child::Child(const Command &command, const sigset_t &mask) : name_{command.arguments[0]} {
  Pipe lifeline, report;
  Start start{pointers(command.arguments),
              pointers(command.environment),
              mask,
              lifeline.reader(),
              lifeline.writer(),
              report.writer(),
              jobs_.wanted(),
              namespaces(command.isolate && !mutant("isolation_left_out"))};
  // Copying this program's pages would take longer than all else here; until the command is there this thread waits,
  // and begin() writes to nothing but its own part of the stack. At a terminal, and with --isolate, it goes on.
  leader_ = start.namespaces.wanted ? clone_isolated(start.namespaces) : start.gated ? clone_process(0) : vfork();
  if (leader_ == 0)
    begin(start);
  if (leader_ < 0)
    throw Failure{command.isolate ? no_rights : internal,
                  command.isolate ? std::string{"--isolate is not to be had here, it needs process namespaces: "} +
                                        std::strerror(errno)
                                  : std::string{"no process is to be had: "} + std::strerror(errno)};
  // In both processes, since either may come first.
  if (!mutant("group_shared"))
    setpgid(leader_, leader_);
  jobs_.begin(leader_);
  [[maybe_unused]] const ssize_t opened = start.gated ? write(lifeline.writer(), "", 1) : 0;
  // The begin is not waited for: it may take long, and be stopped, and the lease be lost meanwhile.
  lifeline_ = lifeline.release_writer();
  report_ = report.release_reader();
  if (mutant("begin_waited_for")) {
    report.close_writer();
    pollfd begun{report_, POLLIN, 0};
    poll(&begun, 1, -1);
  }
}

Child::~Child() {
  if (leader_ > 0)
    kill();
  for (const int file : {lifeline_, report_})
    if (file >= 0)
      close(file);
}

void Child::signal(int signal) noexcept {
  if (leader_ > 0)
    ::kill(-leader_, signal);
}

std::optional<int> Child::ended() {
  siginfo_t information{};
  // Its number stays its own, and its group's, until it is waited for in earnest.
  const bool news =
      waitid(P_PID, static_cast<id_t>(leader_), &information, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
      information.si_pid != 0;
  if (!news || information.si_code == CLD_STOPPED) {
    if (news && waitid(P_PID, static_cast<id_t>(leader_), &information, WSTOPPED | WNOHANG) == 0)
      jobs_.stopped(information.si_status);
    jobs_.look();
    return std::nullopt;
  }
  if (!mutant("rest_of_group_left"))
    ::kill(-leader_, SIGKILL);
  const int status = reap();
  refuse_unbegun();
  return status;
}

void Child::refuse_unbegun() const {
  // Who might still write there has ended, or become the command.
  Report told{};
  if (read(report_, &told, sizeof told) != sizeof told)
    return;
  if (told.step != 0)
    throw Failure{no_rights, std::string{"--isolate is not to be had here: "} + std::strerror(told.error)};
  throw Failure{told.error == ENOENT ? not_found : not_runnable, name_ + ": " + std::strerror(told.error)};
}

int Child::kill() {
  ::kill(-leader_, SIGKILL);
  return reap();
}

int Child::reap() noexcept {
  siginfo_t information{};
  while (waitid(P_PID, static_cast<id_t>(leader_), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  jobs_.end();
  int status = 0;
  while (waitpid(leader_, &status, 0) < 0 && errno == EINTR) {
  }
  leader_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace gatepost::cli
