// What this process is told by its system, as tests make it go wrong: faults.cpp stands in for the C library's
// functions. Not in builds with the thread sanitizer, which has its own.
#pragma once

#include <chrono>

namespace gatepost::test {

/// From now on the wall clock is off by so much.
void step_wall_clock(std::chrono::nanoseconds by);
/// As after a suspend of that length: the boot clock has gone on, the monotonic clock has not.
void suspend(std::chrono::nanoseconds length);
/// As if there had been no suspend.
void forget_suspends();
/// After so many more threads there are none to be had; a negative number: any number.
void allow_threads(int count);

} // namespace gatepost::test
