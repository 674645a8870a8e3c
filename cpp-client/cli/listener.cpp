#include "listener.hpp"

#include "failure.hpp"
#include "mutant.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace gatepost::cli {

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

/// -1 when it is none.
int port_of(std::string_view text) {
  int port = 0;
  if (text.empty() || text.size() > 5)
    return -1;
  for (const char c : text) {
    if (c < '0' || c > '9')
      return -1;
    port = port * 10 + (c - '0');
  }
  return port <= 65535 ? port : -1;
}

Addresses addresses_of(const std::string &host, const std::string &address) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (getaddrinfo(host.empty() || host == "*" ? nullptr : host.c_str(), "0", &wanted, &found) != 0)
    throw Failure{usage, "cannot listen at " + address + ": host \"" + host + "\" is not known"};
  return {found, freeaddrinfo};
}

in_port_t &port_field(sockaddr_storage &address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in &>(address).sin_port;
}

/// The socket, or -1 with errno; a port of 0 becomes the one that was taken.
int listen_at(const addrinfo &where, int &port) {
  sockaddr_storage address{};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  port_field(address) = htons(static_cast<in_port_t>(port));
  File file{socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, where.ai_protocol)};
  if (file.get() < 0)
    return -1;
  const int on = 1;
  setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Else every address of one family would take the other's too.
  if (where.ai_family == AF_INET6)
    setsockopt(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  socklen_t size = where.ai_addrlen;
  if (bind(file.get(), reinterpret_cast<sockaddr *>(&address), size) != 0 || listen(file.get(), 16) != 0 ||
      getsockname(file.get(), reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return -1;
  port = ntohs(port_field(address));
  return file.release();
}

bool is_repeated(const addrinfo *first, const addrinfo *one) {
  for (const addrinfo *each = first; each != one; each = each->ai_next)
    if (each->ai_addrlen == one->ai_addrlen && std::memcmp(each->ai_addr, one->ai_addr, one->ai_addrlen) == 0)
      return true;
  return false;
}

} // namespace

Listener::Listener(const std::string &address) {
  const std::size_t colon = address.rfind(':');
  std::string host = colon == std::string::npos ? "localhost" : address.substr(0, colon);
  const std::string service = colon == std::string::npos ? address : address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  const int wanted = port_of(service);
  if (wanted < 0)
    throw Failure{usage, "cannot listen at " + address + ": \"" + service + "\" is not a port from 0 to 65535"};
  const Addresses found = addresses_of(host, address);
  // What is free at one address may be taken at another.
  for (int tries = 0;; ++tries) {
    int error = EADDRNOTAVAIL;
    bool taken = false;
    files_.clear();
    port_ = wanted;
    for (const addrinfo *each = found.get(); each != nullptr && !taken; each = each->ai_next) {
      if (is_repeated(found.get(), each) || (mutant("first_address_only") && !files_.empty()))
        continue;
      if (const int file = listen_at(*each, port_); file >= 0) {
        files_.emplace_back(file);
      } else {
        // A family that the machine does not have is not missed.
        taken = errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL;
        error = errno;
      }
    }
    if (!taken && !files_.empty())
      return;
    if (!taken || wanted != 0 || tries == 10)
      throw Failure{usage, "cannot listen at " + address + ": " + std::strerror(error)};
  }
}

} // namespace gatepost::cli
