// A process namespace: when its first process dies, the kernel kills every other one in it, wherever they have hidden.
#pragma once

#include <sys/types.h>

namespace gatepost::cli {

/// Prepared before the process is made, since afterwards little may be called.
struct Namespaces {
  bool wanted = false;
  bool user = false; ///< a user namespace too, without which only root may
  char user_map[64] = "";
  char group_map[64] = "";
};

Namespaces namespaces(bool wanted);

/// As fork(), but without what the C library does beside: it takes locks that another thread may have.
pid_t clone_process(unsigned long flags) noexcept;
/// The first process of new namespaces. Sets namespaces.user when that is the way.
pid_t clone_isolated(Namespaces &namespaces) noexcept;

/// In the first process: gives it its user back, and a /proc of its own.
bool enter_namespaces(const Namespaces &namespaces) noexcept;
/// In the first process: waits for everybody, and ends with the status of the command.
[[noreturn]] void be_init(pid_t command) noexcept;

} // namespace gatepost::cli
