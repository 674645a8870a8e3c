#include "connect_failure.hpp"

#include <cctype>
#include <chrono>

#include <libpq-fe.h>
#include <poll.h>

namespace gatepost::cli {

namespace {

/// The SQLSTATE in "FATAL:  28000: role ..", or nothing.
std::string sqlstate_in(const std::string &text) {
  for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at + 1)) {
    const std::size_t code = text.find_first_not_of(' ', at + 1);
    if (code == std::string::npos || code + 6 > text.size() || text[code + 5] != ':')
      continue;
    // FATAL has no digit.
    bool right = std::isdigit(static_cast<unsigned char>(text[code])) != 0;
    for (std::size_t i = code; i < code + 5; ++i)
      right = right &&
              (std::isdigit(static_cast<unsigned char>(text[i])) || std::isupper(static_cast<unsigned char>(text[i])));
    if (right)
      return text.substr(code, 5);
  }
  return {};
}

std::string verbose_message(const ConnectParameters &parameters) {
  PGconn *connection = PQconnectStartParams(parameters.keywords.data(), parameters.values.data(), 1);
  if (connection == nullptr)
    return {};
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{3};
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
    pollfd file{PQsocket(connection), static_cast<short>(next == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
    if (std::chrono::steady_clock::now() > end || poll(&file, 1, 1000) < 0)
      break;
    next = PQconnectPoll(connection);
  }
  std::string message = PQerrorMessage(connection);
  PQfinish(connection);
  return message;
}

/// "connection to server on socket "..": FATAL:  role "x" does not exist" without what says nothing.
std::string shortened(std::string message) {
  if (const std::size_t at = message.rfind("FATAL: "); at != std::string::npos)
    message.erase(0, at + 7);
  if (const std::size_t at = message.find(" Is the server running"); at != std::string::npos)
    message.erase(at);
  return one_line(message);
}

} // namespace

Failure explain_failure(const ConnectParameters &parameters, const std::string &message) {
  const std::string text = shortened(message);
  if (PQpingParams(parameters.keywords.data(), parameters.values.data(), 1) == PQPING_OK)
    if (const std::string sqlstate = sqlstate_in(verbose_message(parameters)); !sqlstate.empty()) {
      const int status = status_for(sqlstate, message);
      return {status, status == no_rights ? text + "; see -U, PGUSER and ~/.pgpass"
                      : status == set_up  ? text + "; see -d and PGDATABASE"
                                          : text};
    }
  // A password that is asked for and not there comes before anything that the server says.
  if (message.find("no password supplied") != std::string::npos)
    return {no_rights, text + "; see PGPASSWORD and ~/.pgpass"};
  return {no_server, text + "; see -h, -p and PGHOST"};
}

} // namespace gatepost::cli
