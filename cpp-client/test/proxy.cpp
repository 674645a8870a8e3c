#include "proxy.hpp"

#include <deque>
#include <list>
#include <stdexcept>
#include <vector>

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace gatepost::test {

namespace {

using Clock = std::chrono::steady_clock;

struct Piece {
  Clock::time_point at;
  std::string bytes;
};

struct Way {
  int client, server;
  unsigned cuts, half_closes;
  std::deque<Piece> to_client{}, to_server{};
  bool deaf = false; ///< half closed
  bool dead = false;
};

int connect_to(const std::string &folder) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder + "/.s.PGSQL.5432").c_str(), sizeof address.sun_path - 1);
  if (connect(file, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) {
    close(file);
    return -1;
  }
  return file;
}

/// False at the end.
bool read_into(int file, std::string &bytes) {
  char buffer[65536];
  const ssize_t got = recv(file, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got <= 0)
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  bytes.assign(buffer, static_cast<std::size_t>(got));
  return true;
}

bool pass(int file, std::deque<Piece> &pieces, Clock::time_point now) {
  while (!pieces.empty() && pieces.front().at <= now) {
    std::string &bytes = pieces.front().bytes;
    const ssize_t sent = send(file, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
      return errno == EAGAIN || errno == EINTR;
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (!bytes.empty())
      return true;
    pieces.pop_front();
  }
  return true;
}

} // namespace

Proxy::Proxy(std::string folder, bool started) : folder_{std::move(folder)} {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr *>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    throw std::runtime_error{"the proxy cannot listen"};
  port_ = ntohs(address.sin_port);
  if (started)
    start();
}

void Proxy::start() {
  thread_ = std::thread{[this] { run(); }};
}

Proxy::~Proxy() {
  stopping_ = true;
  thread_.join();
  close(listener_);
}

std::string Proxy::conninfo(const std::string &application) const {
  return "host=127.0.0.1 sslmode=disable gssencmode=disable port=" + std::to_string(port_) +
         " application_name=" + application;
}

void Proxy::cut() { ++cuts_; }

void Proxy::reset() {
  resetting_ = true;
  ++cuts_;
}

void Proxy::run() {
  std::list<Way> ways;
  while (!stopping_) {
    std::vector<pollfd> files{{listener_, POLLIN, 0}};
    bool waiting = false;
    for (const Way &way : ways) {
      if (!stall_) {
        files.push_back({way.client, POLLIN, 0});
        files.push_back({way.server, POLLIN, 0});
      }
      waiting = waiting || !way.to_client.empty() || !way.to_server.empty();
    }
    poll(files.data(), files.size(), waiting || stall_ ? 2 : 5);
    const auto now = Clock::now();
    if (files[0].revents & POLLIN) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int server = client >= 0 && !refuse_ ? connect_to(folder_) : -1;
      if (server >= 0)
        ways.push_back({client, server, cuts_, half_closes_});
      else if (client >= 0)
        close(client);
    }
    for (Way &way : ways) {
      if (way.cuts != cuts_) {
        const linger none{1, 0};
        if (resetting_)
          setsockopt(way.client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
        way.dead = true;
        continue;
      }
      if (way.half_closes != half_closes_ && !way.deaf) {
        way.deaf = true;
        shutdown(way.server, SHUT_WR);
      }
      if (stall_)
        continue;
      std::string bytes;
      if (!read_into(way.client, bytes)) {
        way.dead = true;
        continue;
      }
      if (!bytes.empty() && !way.deaf)
        way.to_server.push_back({now, std::move(bytes)});
      bytes.clear();
      if (!way.deaf && !read_into(way.server, bytes)) {
        way.dead = true;
        continue;
      }
      if (!bytes.empty() && !way.deaf) {
        if (lose_.exchange(false)) {
          way.dead = true;
          continue;
        }
        way.to_client.push_back({now + std::chrono::milliseconds{delay_ms_}, std::move(bytes)});
      }
      way.dead = !pass(way.server, way.to_server, now) || !pass(way.client, way.to_client, now);
    }
    for (auto way = ways.begin(); way != ways.end();)
      if (way->dead) {
        close(way->client);
        close(way->server);
        way = ways.erase(way);
      } else {
        ++way;
      }
  }
  for (const Way &way : ways) {
    close(way.client);
    close(way.server);
  }
}

} // namespace gatepost::test
