#include "app.hpp"
#include "command.hpp"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

int main(int count, char **arguments) {
  using namespace gatepost::cli;
  Invocation invocation;
  for (char **entry = environ; *entry != nullptr; ++entry)
    invocation.environment.emplace_back(*entry);
  try {
    if (const std::optional<int> status = parse(invocation, count, arguments))
      leave(*status);
    leave(invocation.action());
  } catch (...) {
    const Failure failure = current_failure(invocation.subcommand);
    std::fflush(stdout);
    complain(invocation, failure.status(), failure.what());
    leave(failure.status());
  }
}
