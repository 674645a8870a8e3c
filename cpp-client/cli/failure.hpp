// How the command fails: one line, and a status.
#pragma once

#include "exit_status.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace gatepost::cli {

class Failure : public std::runtime_error {
public:
  Failure(int status, const std::string &message) : std::runtime_error{message}, status_{status} {}
  int status() const noexcept { return status_; }

private:
  int status_;
};

/// What an SQLSTATE, and the name in its message, mean for whoever called.
int status_for(std::string_view sqlstate, std::string_view message) noexcept;

/// Turns the exception that is being handled into a status and a message that fits the subcommand.
Failure current_failure(std::string_view subcommand);

/// No line breaks, no runs of spaces.
std::string one_line(std::string_view text);

} // namespace gatepost::cli
