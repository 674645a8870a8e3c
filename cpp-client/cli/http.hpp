// Answers GET of one path, for scrapers. Connections are served beside each other, so that one that says nothing, or
// reads nothing, delays nobody; what is answered is made for one after the other.
#pragma once

#include "signals.hpp"

#include <functional>
#include <string>

namespace gatepost::cli {

/// `address` is PORT or HOST:PORT. Throws Failure when it cannot listen there. Returns the signal that ended it.
int serve(const std::string &address, const std::string &path, Signals &signals,
          const std::function<void(int port)> &ready, const std::function<std::string()> &answer);

} // namespace gatepost::cli
