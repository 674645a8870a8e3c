// What the library costs, beside the server that PGHOST names:
//   gatepost_bench pair [ROUNDS SECONDS]    try_acquire and release, beside the same two statements by bare libpqxx
//   gatepost_bench guards [COUNT SECONDS]   processor time and memory of so many guards, renewed at ttl 30 s
#include "pqxx_versions.hpp"

#include <gatepost/gatepost.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <typename Call> double per_second(double seconds, Call &&call) {
  const auto begun = Clock::now();
  const auto end = begun + std::chrono::duration<double>{seconds};
  long count = 0;
  for (; Clock::now() < end; ++count)
    call(count);
  return static_cast<double>(count) / std::chrono::duration<double>{Clock::now() - begun}.count();
}

std::string name_of(long number) { return "bench/" + std::to_string(number % 1000); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void aim(const char *what, double value, const char *unit, double most) {
  std::printf("  %-44s %8.3f %-12s aim at most %g   %s\n", what, value, unit, most, value <= most ? "met" : "MISSED");
}

void pair(int rounds, double seconds) {
  gatepost::Client client{"application_name=bench"};
  pqxx::connection connection;
  const auto by_library = [&](long number) { (void)client.try_acquire(name_of(number), 30s)->release(); };
  const auto by_hand = [&](long number) {
    pqxx::nontransaction transaction{connection};
    const std::string name = name_of(number);
    const auto token =
        gatepost::detail::ask(transaction, "SELECT gatepost.lease_acquire($1, $2::interval)", name, "30 s")[0][0]
            .as<std::int64_t>();
    gatepost::detail::ask(transaction, "SELECT gatepost.lease_release($1, $2)", name, token);
  };
  per_second(seconds, by_library);
  per_second(seconds, by_hand);
  std::vector<double> library, hand, ratio;
  for (int round = 0; round < rounds; ++round) {
    const bool first = round % 2 == 0;
    const double one = per_second(seconds, first ? std::function<void(long)>{by_library} : by_hand);
    const double two = per_second(seconds, first ? std::function<void(long)>{by_hand} : by_library);
    library.push_back(first ? one : two);
    hand.push_back(first ? two : one);
    ratio.push_back(hand.back() / library.back());
  }
  std::printf("try_acquire and release, one thread\n");
  std::printf("  %-44s %8.0f a second\n", "the library", median(library));
  std::printf("  %-44s %8.0f a second\n", "bare libpqxx", median(hand));
  aim("the library costs / bare libpqxx", median(ratio), "", 1.15);
}

double processor_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval &time) { return static_cast<double>(time.tv_sec) + time.tv_usec / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void guards(int count, double seconds) {
  gatepost::Client client{"application_name=guards"};
  std::vector<gatepost::Lease> leases;
  leases.reserve(static_cast<std::size_t>(count));
  (void)client.try_acquire("guard", 30s);
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < count; ++i)
    leases.push_back(client.acquire("guard/" + std::to_string(i), 30s));
  const double bytes = static_cast<double>(mallinfo2().uordblks - before) / count + sizeof(gatepost::Lease);
  const double begun = processor_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
  const double used = processor_seconds() - begun;
  const auto held = std::count_if(leases.begin(), leases.end(), [](const auto &lease) { return lease.held(); });
  std::printf("%d guards at ttl 30 s, %.0f s\n", count, seconds);
  aim("of a core", used / seconds * 100, "%", 1);
  aim("memory a guard, its name of 10 bytes within", bytes, "bytes", 1024);
  aim("guards that were lost", static_cast<double>(count - held), "", 0);
  // What is left lapses; releasing one by one is another measurement.
  std::fflush(stdout);
  std::_Exit(0);
}

} // namespace

int main(int count, char **arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const auto number = [&](int place, int otherwise) { return count > place ? std::atoi(arguments[place]) : otherwise; };
  gatepost::open_connection("")->execute("CREATE EXTENSION IF NOT EXISTS gatepost");
  if (what == "pair")
    pair(number(2, 5), number(3, 3));
  else if (what == "guards")
    guards(number(2, 10000), number(3, 60));
  else
    return 2;
}
