// An HTTP server that lets one request for each order through at a time, over all its instances: POST /orders/7 takes the
// lease of that order for as long as it works, and answers 409 when somebody else does. Without arguments it asks itself
// twice and ends; with a port it serves.
#include <gatepost/gatepost.hpp>

#include <array>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

std::string handle(gatepost::Client &client, const std::string &request) {
  const std::string start = "POST /orders/";
  if (!request.starts_with(start))
    return "404 Not Found";
  const std::string order = request.substr(start.size(), request.find(' ', start.size()) - start.size());
  try {
    const auto lease = client.try_acquire("order/" + order, 30s);
    if (!lease)
      return "409 Conflict";
    std::this_thread::sleep_for(300ms); // the work; its writes would use(transaction, *lease)
    lease->require();
    return "200 OK";
  } catch (const gatepost::error &error) {
    return "503 " + std::string{error.sqlstate()};
  }
}

void serve(gatepost::Client &client, int connection) {
  std::array<char, 4096> buffer;
  const ssize_t got = read(connection, buffer.data(), buffer.size());
  if (got > 0) {
    const std::string answer = "HTTP/1.0 " + handle(client, std::string(buffer.data(), got)) + "\r\n\r\n";
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  }
  close(connection);
}

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string ask(int port, const std::string &request) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = local(port);
  if (connect(connection, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0)
    return "no connection";
  send(connection, request.data(), request.size(), MSG_NOSIGNAL);
  std::array<char, 4096> buffer;
  const ssize_t got = read(connection, buffer.data(), buffer.size());
  close(connection);
  const std::string answer(buffer.data(), got > 0 ? got : 0);
  return answer.substr(0, answer.find('\r'));
}

} // namespace

int main(int count, char **arguments) {
  gatepost::Client client{"application_name=orders"};
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = local(count > 1 ? std::stoi(arguments[1]) : 0);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr *>(&address), size) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) != 0) {
    std::cerr << "cannot listen\n";
    return 1;
  }
  const int port = ntohs(address.sin_port);
  int left = count > 1 ? -1 : 3;
  std::thread server{[&] {
    std::vector<std::thread> requests;
    while (left < 0 || left-- > 0) {
      const int connection = accept(listener, nullptr, nullptr);
      requests.emplace_back([&client, connection] { serve(client, connection); });
      if (left < 0) {
        requests.back().detach();
        requests.pop_back();
      }
    }
    for (std::thread &request : requests)
      request.join();
  }};
  if (count == 1) {
    std::string first;
    std::thread one{[&] { first = ask(port, "POST /orders/7 HTTP/1.0\r\n\r\n"); }};
    std::this_thread::sleep_for(100ms);
    std::cout << "beside it: " << ask(port, "POST /orders/7 HTTP/1.0\r\n\r\n") << '\n';
    one.join();
    std::cout << "the first: " << first << '\n';
    std::cout << "after it: " << ask(port, "POST /orders/7 HTTP/1.0\r\n\r\n") << '\n';
  }
  server.join();
  close(listener);
}
