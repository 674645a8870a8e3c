#include "http.hpp"

#include "listener.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

/// Until the empty line; empty when it does not come in time.
std::string request_of(int file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
  std::string text;
  while (text.find("\r\n\r\n") == std::string::npos && text.find("\n\n") == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd ready{file, POLLIN, 0};
    if (left <= 0 || text.size() > 16384 || poll(&ready, 1, static_cast<int>(left)) <= 0)
      return {};
    char buffer[4096];
    const ssize_t got = recv(file, buffer, sizeof buffer, 0);
    if (got <= 0)
      return {};
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

void send_all(int file, const std::string &text) {
  const timeval limit{2, 0};
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t written = send(file, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (written <= 0)
      return;
    sent += static_cast<std::size_t>(written);
  }
}

std::string response(const char *status, const std::string &body, bool with_body, const char *more = "") {
  return std::string{"HTTP/1.1 "} + status + "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + (with_body ? body : "");
}

} // namespace

int serve(const std::string &address, const std::string &path, Signals &signals,
          const std::function<void(int port)> &ready, const std::function<std::string()> &answer) {
  const Listener listener{address};
  ready(listener.port());
  std::vector<pollfd> files{{signals.file(), POLLIN, 0}};
  for (const File &file : listener.files())
    files.push_back({file.get(), POLLIN, 0});
  while (true) {
    poll(files.data(), files.size(), -1);
    for (int signal = signals.take(); signal != 0; signal = signals.take())
      if (asks_to_end(signal))
        return signal;
    const auto called =
        std::find_if(files.begin() + 1, files.end(), [](const pollfd &file) { return (file.revents & POLLIN) != 0; });
    if (called == files.end())
      continue;
    const File client{accept4(called->fd, nullptr, nullptr, SOCK_CLOEXEC)};
    if (client.get() < 0)
      continue;
    const std::string request = request_of(client.get());
    const bool head = request.starts_with("HEAD ");
    if (!head && !request.starts_with("GET ")) {
      if (!request.empty())
        send_all(client.get(), response("405 Method Not Allowed", "", true, "Allow: GET, HEAD\r\n"));
      continue;
    }
    const std::size_t begin = request.find(' ') + 1;
    const std::string target = request.substr(begin, request.find_first_of(" ?\r\n", begin) - begin);
    if (target == path)
      send_all(client.get(), response("200 OK", answer(), !head));
    else
      send_all(client.get(), response("404 Not Found", "see " + path + "\n", !head));
  }
}

} // namespace gatepost::cli
