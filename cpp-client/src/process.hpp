// What belongs to the process: forks, threads that receive no signals, random numbers.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace gatepost::inline v0::detail {

/// Another number in each child process.
unsigned fork_count() noexcept;

/// Throws unavailable when no thread is to be had. What body throws ends the process, so it catches.
std::thread start_thread(const char *name, std::function<void()> body);

/// A random UUID.
std::string request_id();

/// Between 75 % and 125 % of it.
std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause) noexcept;

/// 100 ms, doubled with each failure up to 1 s or the given most; with jitter.
std::chrono::nanoseconds backoff(unsigned failures, std::chrono::nanoseconds most = std::chrono::seconds{1}) noexcept;

} // namespace gatepost::inline v0::detail
