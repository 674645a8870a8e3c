// Who of a process group is stopped, which the kernel tells nobody but parents.
#pragma once

#include <sys/types.h>

namespace gatepost::cli {

/// By a signal, not by a debugger. Looks at every process there is.
bool has_stopped(pid_t group) noexcept;

} // namespace gatepost::cli
