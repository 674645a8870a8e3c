// How long a name takes from one client to the next: from sending the release to having the waiter's answer, over the
// connections that the environment names. Ways of waiting, in turns:
//   wait      lease_acquire with wait
//   notify    tries again at each notification, which the release sends
//   poll      tries again every 50 ms
//   flush     nobody waits: one row is updated and committed to disk, which any durable grant pays
// And a queue of waiters, each of whom gives back at once: whether it drains in order of arrival.
//   handover SECONDS WAITERS
#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

class Connection {
public:
  Connection() : pg(PQconnectdb("")) {
    if (PQstatus(pg) != CONNECTION_OK)
      fail();
  }
  ~Connection() { PQfinish(pg); }
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  // The first value of the last statement's answer, "" for NULL or none.
  std::string ask(const std::string &sql) {
    send(sql);
    return answer();
  }
  void send(const std::string &sql) {
    if (!PQsendQuery(pg, sql.c_str()))
      fail();
  }
  std::string answer() {
    std::string value;
    while (PGresult *result = PQgetResult(pg)) {
      const auto status = PQresultStatus(result);
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail();
      if (PQntuples(result) > 0)
        value = PQgetvalue(result, 0, 0);
      PQclear(result);
    }
    return value;
  }
  void await_notification() {
    for (;;) {
      if (!PQconsumeInput(pg))
        fail();
      bool any = false;
      while (PGnotify *notification = PQnotifies(pg)) {
        PQfreemem(notification);
        any = true;
      }
      if (any)
        return;
      readable(-1);
    }
  }
  bool readable(int timeout_ms) {
    pollfd event{PQsocket(pg), POLLIN, 0};
    return poll(&event, 1, timeout_ms) > 0;
  }
  int socket() const { return PQsocket(pg); }

private:
  [[noreturn]] void fail() {
    std::fprintf(stderr, "handover: %s", PQerrorMessage(pg));
    std::exit(1);
  }
  PGconn *pg;
};

const std::string acquire = "SELECT gatepost.lease_acquire('passed', '1 h'";
const std::string try_it = acquire + ")";

std::string release(const std::string &token) { return "SELECT gatepost.lease_release('passed', " + token + ")"; }

// The waiter's side. Result: the token.
std::string wait_for(const std::string &way, Connection &waiter) {
  if (way == "wait")
    return waiter.ask(acquire + ", '1 min')");
  std::string token;
  while ((token = waiter.ask(try_it)).empty())
    if (way == "notify")
      waiter.await_notification();
    else
      std::this_thread::sleep_for(milliseconds(50));
  return token;
}

// One hand-over. Result: milliseconds.
double hand_over(const std::string &way, Connection &holder, Connection &waiter, int number) {
  const std::string token = holder.ask(try_it);
  std::string next;
  Clock::time_point served;
  std::thread thread([&] {
    next = wait_for(way, waiter);
    served = Clock::now();
  });
  // At any time of a poll loop's round.
  std::this_thread::sleep_for(milliseconds(5 + number * 7 % 50));
  const Clock::time_point begun = Clock::now();
  if (way == "notify")
    holder.ask("BEGIN;" + release(token) + ";NOTIFY passed;COMMIT");
  else
    holder.ask(release(token));
  thread.join();
  holder.ask(release(next));
  return std::chrono::duration<double, std::milli>(served - begun).count();
}

// What no hand-over can be faster than. After as long a pause, since a machine that has slept is slow. Result:
// milliseconds.
double flush(Connection &waiter, int number) {
  std::this_thread::sleep_for(milliseconds(5 + number * 7 % 50));
  const Clock::time_point begun = Clock::now();
  waiter.ask("UPDATE flushed SET n = n + 1");
  return ms_since(begun);
}

double at(const std::vector<double> &sorted, double part) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(part * static_cast<double>(sorted.size())))];
}

void aim(const char *what, double value, double limit) {
  std::printf("  %-34s %7.2f   aim at most %g   %s\n", what, value, limit, value <= limit ? "met" : "MISSED");
}

void hand_overs(int seconds) {
  Connection holder;
  Connection waiter;
  waiter.ask("LISTEN passed");
  std::map<std::string, std::vector<double>> times;
  const Clock::time_point begun = Clock::now();
  for (int number = 0; ms_since(begun) < seconds * 1000.0; number++) {
    for (const char *way : {"wait", "notify", "poll"})
      times[way].push_back(hand_over(way, holder, waiter, number));
    times["flush"].push_back(flush(waiter, number));
  }
  std::printf("  %-22s %10s %10s %10s %8s\n", "contender", "median ms", "p99 ms", "max ms", "times");
  for (const char *way : {"wait", "notify", "poll", "flush"}) {
    auto &list = times[way];
    std::sort(list.begin(), list.end());
    std::printf("  %-22s %10.2f %10.2f %10.2f %8zu\n", way, at(list, 0.5), at(list, 0.99), list.back(), list.size());
  }
  aim("wait, median ms", at(times["wait"], 0.5), 0.5);
  aim("wait less flush, median ms", at(times["wait"], 0.5) - at(times["flush"], 0.5), 0.5);
  aim("wait, p99 ms", at(times["wait"], 0.99), 5);
}

void drain(int count) {
  Connection holder;
  const std::string token = holder.ask(try_it);
  std::vector<Connection> waiters(count);
  std::vector<pollfd> events;
  for (int i = 0; i < count; i++) {
    waiters[i].send(acquire + ", '1 min')");
    const std::string here = "SELECT count(*) FROM gatepost.waiters";
    while (holder.ask(here) != std::to_string(i + 1)) {
    }
    events.push_back({waiters[i].socket(), POLLIN, 0});
  }
  const Clock::time_point begun = Clock::now();
  holder.ask(release(token));
  int out_of_order = 0;
  for (int served = 0; served < count; served++) {
    poll(events.data(), events.size(), -1);
    const auto next = std::find_if(events.begin(), events.end(), [](const pollfd &e) { return e.revents != 0; });
    const int number = static_cast<int>(next - events.begin());
    if (number != served)
      out_of_order++;
    next->fd = -1;
    waiters[number].ask(release(waiters[number].answer()));
  }
  std::printf("  %d waiters drain in %.0f ms, %.2f ms each\n", count, ms_since(begun), ms_since(begun) / count);
  aim("served out of order", out_of_order, 0);
}

} // namespace

int main(int, char **arguments) {
  hand_overs(std::atoi(arguments[1]));
  drain(std::atoi(arguments[2]));
}
