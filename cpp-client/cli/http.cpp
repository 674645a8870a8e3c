#include "http.hpp"

#include "listener.hpp"
#include "mutant.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <list>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gatepost::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t at_once = 32, longest_request = 16384;
constexpr std::chrono::seconds patience{10};

/// A connection: its request comes, then its response goes.
struct Exchange {
  explicit Exchange(int connection) : file{connection} {}
  File file;
  Clock::time_point end = Clock::now() + patience; ///< of the request, and then of the response
  std::string request{}, response{};
};

std::string response(const char *status, const std::string &body, bool with_body, const char *more = "") {
  return std::string{"HTTP/1.1 "} + status + "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + (with_body ? body : "");
}

/// The path that is asked for, also of a URL, as proxies are asked.
std::string path_of(const std::string &request) {
  constexpr std::string_view scheme{"http://"};
  const std::size_t begin = request.find(' ') + 1;
  std::string target = request.substr(begin, request.find_first_of(" \r\n", begin) - begin);
  target.erase(std::min(target.find('?'), target.size()));
  if (target.starts_with(scheme) && !mutant("urls_unread"))
    target.erase(0, target.find('/', scheme.size()));
  return target;
}

std::string response_to(const std::string &request, const std::string &path,
                        const std::function<std::string()> &answer) {
  const bool head = request.starts_with("HEAD ");
  if (!head && !request.starts_with("GET "))
    return response("405 Method Not Allowed", "", true, "Allow: GET, HEAD\r\n");
  return path_of(request) == path ? response("200 OK", answer(), !head)
                                  : response("404 Not Found", "see " + path + "\n", !head);
}

bool is_for_later(ssize_t result) noexcept { return result < 0 && (errno == EAGAIN || errno == EINTR); }

/// Reads what has come, or writes what is taken. False: that was all.
bool go_on(Exchange &exchange, const std::string &path, const std::function<std::string()> &answer) {
  if (exchange.response.empty()) {
    char buffer[4096];
    const ssize_t got = recv(exchange.file.get(), buffer, sizeof buffer, 0);
    if (got <= 0)
      return is_for_later(got);
    exchange.request.append(buffer, static_cast<std::size_t>(got));
    if (exchange.request.find("\r\n\r\n") == std::string::npos && exchange.request.find("\n\n") == std::string::npos)
      return exchange.request.size() <= longest_request;
    exchange.response = response_to(exchange.request, path, answer);
    exchange.end = Clock::now() + patience;
  }
  const ssize_t sent = send(exchange.file.get(), exchange.response.data(), exchange.response.size(), MSG_NOSIGNAL);
  if (sent < 0)
    return is_for_later(sent);
  exchange.response.erase(0, static_cast<std::size_t>(sent));
  return !exchange.response.empty();
}

/// For poll(): until the first has had its time.
int time_left(const std::list<Exchange> &exchanges) {
  if (exchanges.empty())
    return -1;
  const auto first = std::min_element(exchanges.begin(), exchanges.end(),
                                      [](const Exchange &a, const Exchange &b) { return a.end < b.end; });
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first->end - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

} // namespace

int serve(const std::string &address, const std::string &path, Signals &signals,
          const std::function<void(int port)> &ready, const std::function<std::string()> &answer) {
  const Listener listener{address};
  ready(listener.port());
  std::list<Exchange> exchanges;
  const std::size_t most = mutant("one_at_a_time") ? 1 : at_once;
  while (true) {
    std::vector<pollfd> files{{signals.file(), POLLIN, 0}};
    for (const File &file : listener.files())
      files.push_back({exchanges.size() < most ? file.get() : -1, POLLIN, 0});
    for (const Exchange &exchange : exchanges)
      files.push_back({exchange.file.get(), static_cast<short>(exchange.response.empty() ? POLLIN : POLLOUT), 0});
    if (poll(files.data(), files.size(), time_left(exchanges)) < 0)
      continue;
    for (int signal = signals.take(); signal != 0; signal = signals.take())
      if (asks_to_end(signal))
        return signal;
    // While one is answered the others' time goes on, but what they have said by then counts.
    const auto now = Clock::now();
    auto file = files.begin() + 1 + static_cast<std::ptrdiff_t>(listener.files().size());
    for (auto each = exchanges.begin(); each != exchanges.end(); ++file)
      if (file->revents != 0 ? go_on(*each, path, answer) : now < each->end)
        ++each;
      else
        each = exchanges.erase(each);
    for (std::size_t i = 1; i <= listener.files().size() && exchanges.size() < most; ++i)
      if ((files[i].revents & POLLIN) != 0)
        if (const int client = accept4(files[i].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); client >= 0)
          exchanges.emplace_back(client);
  }
}

} // namespace gatepost::cli
