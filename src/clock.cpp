#include "clock.hpp"

#include "hash.hpp"
#include "mutant.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_BOOTTIME
#error "Gatepost needs CLOCK_BOOTTIME (Linux)"
#endif

namespace gatepost {
namespace {

// Reads a small file into a buffer, as a C string. Result: its length, -1 when it cannot be read.
int read_small(const char *path, char *buffer, int size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return -1;
  const ssize_t length = read(file, buffer, size - 1);
  close(file);
  if (length < 0)
    return -1;
  buffer[length] = '\0';
  return static_cast<int>(length);
}

int64 clock_us(clockid_t clock) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0)
    ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("could not read the clock: %m")));
  return static_cast<int64>(now.tv_sec) * USECS_PER_SEC + now.tv_nsec / 1000;
}

#ifdef GATEPOST_TEST
// The test build takes its clocks from files in the data directory when they are there.
bool from_file(const char *path, int64 *value) {
  char line[64];
  if (read_small(path, line, sizeof line) <= 0)
    return false;
  *value = strtoll(line, nullptr, 10);
  return true;
}
#endif

// The offsets of this process's time namespace; -1 where the kernel has none.
int read_offsets(char *buffer, int size) {
#ifdef GATEPOST_TEST
  const int length = read_small("gatepost_test_timens_offsets", buffer, size);
  if (length > 0)
    return length;
#endif
  return read_small("/proc/self/timens_offsets", buffer, size);
}

} // namespace

int64 boottime_us() {
  if (mutant("wall_clock_deadlines"))
    return wallclock_us();
#ifdef GATEPOST_TEST
  int64 value;
  if (from_file("gatepost_test_boottime", &value))
    return value;
#endif
  return clock_us(CLOCK_BOOTTIME);
}

int64 monotonic_us() { return clock_us(CLOCK_MONOTONIC); }

int64 wallclock_us() {
#ifdef GATEPOST_TEST
  int64 value;
  if (from_file("gatepost_test_wallclock", &value))
    return value;
#endif
  return clock_us(CLOCK_REALTIME);
}

int64 boot_fingerprint() {
  char id[256];
#ifdef GATEPOST_TEST
  if (read_small("gatepost_test_boot_id", id, sizeof id) > 0)
    return static_cast<int64>(hash64(id) | 1);
#endif
  // Neither can change while this process lives.
  static int64 fingerprint;
  if (fingerprint != 0)
    return fingerprint;
  const int length = read_small("/proc/sys/kernel/random/boot_id", id, 64);
  if (length <= 0)
    ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("could not read the boot id: %m")));
  // What moves the clock is the offset of the time namespace; the number of a namespace that has ended is given again.
  if (read_offsets(id + length, static_cast<int>(sizeof id) - length) < 0 || mutant("time_namespace_ignored"))
    id[length] = '\0';
  fingerprint = static_cast<int64>(hash64(id) | 1);
  return fingerprint;
}

} // namespace gatepost
