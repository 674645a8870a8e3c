#include "faults.hpp"

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace gatepost::test {

namespace {

std::atomic<long long> wall_offset{0}, boot_offset{0};
std::atomic<int> threads_left{-1};

} // namespace

void step_wall_clock(std::chrono::nanoseconds by) { wall_offset = by.count(); }
void suspend(std::chrono::nanoseconds length) { boot_offset += length.count(); }
void forget_suspends() { boot_offset = 0; }
void allow_threads(int count) { threads_left = count; }

} // namespace gatepost::test

extern "C" int clock_gettime(clockid_t clock, timespec *time) noexcept {
  using namespace gatepost::test;
  if (syscall(SYS_clock_gettime, clock, time) != 0)
    return -1;
  const long long off = clock == CLOCK_REALTIME ? wall_offset.load() : clock == CLOCK_BOOTTIME ? boot_offset.load() : 0;
  if (off != 0) {
    const long long sum = time->tv_sec * 1'000'000'000LL + time->tv_nsec + off;
    time->tv_sec = sum / 1'000'000'000;
    time->tv_nsec = sum % 1'000'000'000;
  }
  return 0;
}

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                              void *argument) noexcept {
  using namespace gatepost::test;
  using Create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  for (int left = threads_left; left >= 0;)
    if (left == 0)
      return EAGAIN;
    else if (threads_left.compare_exchange_weak(left, left - 1))
      break;
  return create(thread, attributes, body, argument);
}
