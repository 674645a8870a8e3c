#include "process.hpp"

#include <gatepost/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <random>
#include <system_error>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace gatepost::inline v0::detail {

namespace {

std::atomic<unsigned> forks{0};

std::mt19937_64 &generator() {
  // A child process must not draw its parent's numbers again.
  thread_local unsigned seeded_in = fork_count();
  thread_local std::mt19937_64 numbers{std::random_device{}()};
  if (seeded_in != fork_count()) {
    numbers.seed(std::random_device{}());
    seeded_in = fork_count();
  }
  return numbers;
}

} // namespace

unsigned fork_count() noexcept {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

std::thread start_thread(const char *name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread{std::move(body)};
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error &error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw unavailable{std::string{"cannot start a thread: "} + error.what(), "53000"};
  }
}

std::string request_id() {
  // Two requests with one id would be taken for one, so these do not come from the generator of pauses. Nor from
  // std::random_device, which on some machines waits 20 us for each of its numbers.
  std::array<std::uint32_t, 4> word;
  if (getentropy(word.data(), sizeof word) != 0)
    throw unavailable{"the system has no random numbers: " + std::generic_category().message(errno), "53000"};
  word[1] = (word[1] & 0xffff0fff) | 0x4000;
  word[2] = (word[2] & 0x3fffffff) | 0x80000000;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%04x%08x", word[0], word[1] >> 16, word[1] & 0xffff,
                word[2] >> 16, word[2] & 0xffff, word[3]);
  return text;
}

std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause) noexcept {
  std::uniform_real_distribution<double> factor{0.75, 1.25};
  return std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(pause.count()) * factor(generator()))};
}

std::chrono::nanoseconds backoff(unsigned failures, std::chrono::nanoseconds most) noexcept {
  const std::chrono::nanoseconds pause = std::chrono::milliseconds{100} * (1 << std::min(failures, 4u));
  return jittered(std::min({pause, most, std::chrono::nanoseconds{std::chrono::seconds{1}}}));
}

} // namespace gatepost::inline v0::detail
