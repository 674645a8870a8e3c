// Answers GET of one path, one request at a time: enough for a scraper.
#pragma once

#include "signals.hpp"

#include <functional>
#include <string>

namespace gatepost::cli {

/// `address` is PORT or HOST:PORT. Throws Failure when it cannot listen there. Returns the signal that ended it.
int serve(const std::string &address, const std::string &path, Signals &signals,
          const std::function<void(int port)> &ready, const std::function<std::string()> &answer);

} // namespace gatepost::cli
