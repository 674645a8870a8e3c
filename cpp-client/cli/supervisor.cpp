#include "supervisor.hpp"

#include "mutant.hpp"

#include <thread>

#include <poll.h>

namespace gatepost::cli {

Outcome supervise(const Grant &grant, Child &child, Signals &signals, Alarm &alarm, const Supervision &rules) {
  using Moment = boot_clock::time_point;
  Outcome outcome;
  BootTimer timer;
  std::optional<Moment> kill_at;
  const auto lose = [&](const std::string &reason) {
    if (!outcome.lost)
      outcome.reason = reason;
    outcome.lost = true;
  };
  pollfd files[]{{signals.file(), POLLIN, 0}, {timer.file(), POLLIN, 0}, {alarm.wake.file(), POLLIN, 0}};
  while (true) {
    for (int signal = signals.take(); signal != 0; signal = signals.take()) {
      if (signal == SIGCHLD)
        continue;
      if (signal == SIGCONT) {
        child.jobs().continued();
        continue;
      }
      if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
        child.jobs().own_group(signal);
        continue;
      }
      if (asks_to_end(signal))
        outcome.signal = signal;
      if (mutant("release_at_signal") && asks_to_end(signal))
        return outcome;
      if (!mutant("signals_kept"))
        child.signal(signal);
      if (asks_to_end(signal))
        child.jobs().heed();
    }
    const std::optional<Loss> loss = mutant("loss_unnoticed") ? std::nullopt : grant.loss();
    const Moment now = boot_clock::now();
    const Moment last = grant.deadline() - rules.lead;
    // What ended after the loss was seen to end after it.
    if (!loss || outcome.lost)
      if (const std::optional<int> status = child.ended()) {
        outcome.status = *status;
        return outcome;
      }
    if (loss || (kill_at && now >= *kill_at) || now >= last) {
      lose(loss ? std::string{to_string(*loss)} : "expired");
      if (mutant("killed_late"))
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
      child.signal(SIGKILL);
      rules.tell("killed", outcome.reason);
      outcome.status = child.kill();
      return outcome;
    }
    if (!kill_at && now >= last - rules.grace) {
      lose("expired");
      // By then whatever comes: a command that has been told to end does not go on under a renewal that came late.
      kill_at = last;
      if (!mutant("killed_without_warning")) {
        child.signal(SIGTERM);
        child.signal(SIGCONT);
      }
      rules.tell("terminated", outcome.reason);
    }
    if (alarm.yield.exchange(false)) {
      if (rules.yield_signal != 0 && !mutant("yield_untold"))
        child.signal(rules.yield_signal);
      rules.tell("yield", "");
    }
    timer.set(kill_at ? *kill_at : last - rules.grace);
    if (poll(files, 3, child.jobs().patience()) > 0 && (files[2].revents & POLLIN) != 0)
      alarm.wake.take();
  }
}

} // namespace gatepost::cli
