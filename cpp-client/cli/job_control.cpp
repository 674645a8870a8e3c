#include "job_control.hpp"

#include "mutant.hpp"
#include "stopped.hpp"

#include <ctime>

#include <signal.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

constexpr int interval = 200; // ms
/// Who handles SIGTSTP restores the terminal first, and stops itself later.
constexpr std::chrono::seconds afterwards{5};

bool asks(int signal) noexcept { return signal == SIGTTIN || signal == SIGTTOU; }

/// A shell that waits for this program cannot take a job for stopped, whatever else of it is. Of a script it can.
bool shell_waits_for_us() noexcept { return getpgid(getppid()) != getpgrp() || mutant("script_goes_on"); }

void continue_own_group() noexcept {
  kill(0, SIGCONT);
  // To this program it is no news.
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, SIGCONT);
  const timespec now{};
  sigtimedwait(&own, nullptr, &now);
}

} // namespace

JobControl::JobControl() {
  if (foreground_.there() && !mutant("only_leader_watched"))
    sentinel_.emplace();
}

void JobControl::begin(pid_t group) noexcept {
  group_ = group;
  if (sentinel_)
    sentinel_->join(group);
  if ((foreground_.is_for_one() && !mutant("lent_on_demand")) || mutant("pipeline_robbed"))
    foreground_.lend(group);
}

void JobControl::look() noexcept {
  if (sentinel_)
    if (const int signal = sentinel_->stopped(); signal != 0)
      stopped(signal);
  if (waits_) {
    const pid_t holder = foreground_.group();
    if ((holder < 0 && !mutant("hangup_unseen")) || holder == group_ || holder == getpgrp())
      go_on();
    return;
  }
  if (boot_clock::now() >= look_until_)
    return;
  if (has_stopped(group_))
    kill(-group_, SIGCONT);
  if (own_too_ && foreground_.ours() && has_stopped(getpgrp()))
    continue_own_group();
}

int JobControl::patience() const noexcept { return waits_ || boot_clock::now() < look_until_ ? interval : -1; }

void JobControl::stopped(int signal) noexcept {
  if (asks(signal) && told_to_end_ && !mutant("end_overtaken")) {
    // It may have stopped before it heard of that.
    told_to_end_ = false;
    kill(-group_, SIGCONT);
  } else if (asks(signal)) {
    // Without a terminal there is nothing to wait for.
    waits_ = foreground_.there();
    if (mutant("asks_again"))
      go_on();
  } else if (signal == SIGTSTP && !mutant("stays_stopped")) {
    waits_ = false;
    kill(-group_, SIGCONT);
    look_for_a_while();
  }
}

void JobControl::continued() noexcept {
  if (waits_ || foreground_.is_for_one())
    foreground_.lend(group_);
  waits_ = false;
  kill(-group_, SIGCONT);
}

void JobControl::go_on() noexcept {
  if (mutant("stays_in_background"))
    return;
  waits_ = false;
  foreground_.lend(group_);
  kill(-group_, SIGCONT);
}

void JobControl::look_for_a_while() noexcept {
  if (!mutant("continued_once"))
    look_until_ = boot_clock::now() + afterwards;
}

void JobControl::own_group(int signal) noexcept {
  if (asks(signal) && !mutant("others_ask_in_vain")) {
    foreground_.take_back();
    if (foreground_.ours())
      continue_own_group();
  } else if (signal == SIGTSTP && foreground_.ours() && shell_waits_for_us() && !mutant("pipeline_stays_stopped")) {
    continue_own_group();
    own_too_ = true;
    look_for_a_while();
  }
}

void JobControl::heed() noexcept {
  told_to_end_ = !waits_;
  if (waits_ && !mutant("end_unheard")) {
    waits_ = false;
    kill(-group_, SIGCONT);
  }
}

void JobControl::end() noexcept { foreground_.take_back(); }

} // namespace gatepost::cli
