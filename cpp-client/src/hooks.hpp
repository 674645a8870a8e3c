// The user's hooks, called so that nothing they throw gets out.
#pragma once

#include <gatepost/options.hpp>

#include <string>
#include <string_view>

namespace gatepost::inline v0::detail {

struct Hooks {
  LogHook log_hook;
  MetricHook metric_hook;

  void log(LogLevel level, const std::string &message) const noexcept {
    try {
      if (log_hook)
        log_hook(level, message);
    } catch (...) {
    }
  }
  void metric(std::string_view name, double value, std::string_view lease = {}) const noexcept {
    try {
      if (metric_hook)
        metric_hook(name, value, lease);
    } catch (...) {
    }
  }
};

} // namespace gatepost::inline v0::detail
