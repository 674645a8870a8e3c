// Time. Deadlines are kept on the boot-time clock, which steps of the wall clock cannot move and which counts suspend;
// it means something only together with the boot it belongs to. The wall clock is for people and for floors.
#pragma once

#include "pg.hpp"

namespace gatepost {

// CLOCK_BOOTTIME in microseconds.
int64 boottime_us();

// Which boot, and which time namespace, that clock belongs to: 64 bits of a hash, never 0.
int64 boot_fingerprint();

// The wall clock in microseconds since 1970.
int64 wallclock_us();

// CLOCK_MONOTONIC in microseconds: for limits on our own waiting, never for leases.
int64 monotonic_us();

} // namespace gatepost
