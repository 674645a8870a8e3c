// A command and the lease that it runs under: which of the two ends first, and what becomes of the other.
//
//   time   grant ............. renewed at a third, again and again
//          deadline - margin - grace   SIGTERM to the process group, unless a renewal came
//          deadline - margin           SIGKILL has been sent
//          deadline                    the server's: somebody else may be granted the name
#pragma once

#include "boot_timer.hpp"
#include "child.hpp"
#include "signals.hpp"

#include <gatepost/grant.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

namespace gatepost::cli {

struct Outcome {
  int status = 0;       ///< of the command
  bool begun = true;    ///< the command
  bool lost = false;    ///< the lease was lost before the command had ended
  int signal = 0;       ///< that asked this program to end, and was passed on
  std::string reason{}; ///< of the loss
};

struct Supervision {
  std::chrono::nanoseconds grace;
  /// Taken off the guard's deadline, so that SIGKILL is sent before it and not at it.
  std::chrono::nanoseconds lead;
  int yield_signal = 0;
  std::function<void(const std::string &event, const std::string &more)> tell;
};

/// What other threads say to the supervising one.
struct Alarm {
  Wake wake;
  std::atomic<bool> yield{false};
};

/// Passes signals on until the command has ended.
Outcome supervise(const Grant &grant, Child &child, Signals &signals, Alarm &alarm, const Supervision &rules);

} // namespace gatepost::cli
