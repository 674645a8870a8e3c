// A command at a terminal: what a shell does for its jobs, less that Ctrl-Z stops them.
//
//   SIGTSTP in its group             it goes on: this program renews, and would keep the terminal from the shell
//   SIGTTIN, SIGTTOU                 it asks for the terminal
//     our group has it               it is lent it, and goes on
//     somebody else has it           it waits, until our group has it, or nobody since it has hung up
//   our own group asks meanwhile     it is taken back: less at the other end of a pipe wants it too
//   SIGSTOP                          is somebody's will
#pragma once

#include "foreground.hpp"
#include "sentinel.hpp"

#include <gatepost/clock.hpp>

#include <optional>

#include <sys/types.h>

namespace gatepost::cli {

class JobControl {
public:
  JobControl();

  /// The command has to wait for begin() before it begins.
  bool wanted() const noexcept { return sentinel_.has_value(); }
  /// The group has been made, and nothing runs in it yet.
  void begin(pid_t group) noexcept;
  /// Looks after those that were stopped.
  void look() noexcept;
  /// When to look although no signal has come, in milliseconds, for poll().
  int patience() const noexcept;
  /// The group's leader was stopped by this signal.
  void stopped(int signal) noexcept;
  /// This program was continued: a shell has put it into the foreground, or somebody has it go on. So does the command.
  void continued() noexcept;
  /// The terminal has sent this signal to our own group.
  void own_group(int signal) noexcept;
  /// The group was sent a signal to end, which it does not hear while it waits for the terminal, nor when it stops for
  /// that before the signal has come to it.
  void heed() noexcept;
  /// The command has ended, and is not yet reaped.
  void end() noexcept;

private:
  void go_on() noexcept;
  void look_for_a_while() noexcept;

  Foreground foreground_;
  std::optional<Sentinel> sentinel_;
  pid_t group_ = -1;
  bool waits_ = false;       ///< for the terminal
  bool told_to_end_ = false; ///< and was not waiting then
  boot_clock::time_point look_until_{};
  bool own_too_ = false; ///< look at our own group as well
};

} // namespace gatepost::cli
