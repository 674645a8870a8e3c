// The terminal that this program was started at. One process group has it at a time, the foreground's: others that read
// from it are stopped.
#pragma once

#include <sys/types.h>

namespace gatepost::cli {

class Foreground {
public:
  Foreground() noexcept;
  ~Foreground();
  Foreground(const Foreground &) = delete;
  Foreground &operator=(const Foreground &) = delete;

  /// There is a terminal: not for cron.
  bool there() const noexcept { return file_ >= 0; }
  /// Who has it; -1: nobody, since there is none, or it has hung up.
  pid_t group() const noexcept;
  bool ours() const noexcept;
  /// Standard input is it, and standard output and error lead to nobody who might want it too.
  bool is_for_one() const noexcept { return for_one_; }

  /// When it is ours to lend.
  void lend(pid_t group) noexcept;
  /// When the borrower still has it. Of our own group, who has asked for it meanwhile goes on.
  void take_back() noexcept;

private:
  int file_;
  bool for_one_;
  pid_t borrower_ = 0;
};

} // namespace gatepost::cli
