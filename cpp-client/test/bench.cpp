// What the library costs, beside the server that PGHOST names:
//   gatepost_bench pair [ROUNDS SECONDS]    try_acquire and release, beside the two statements by bare libpqxx
//   gatepost_bench guards [COUNT SECONDS]   processor time and memory of so many guards, renewed at ttl 30 s
#include "pqxx_versions.hpp"
#include "process.hpp"
#include "statements.hpp"

#include <gatepost/gatepost.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The time that half of the operations take at most, of each contender, in microseconds. They have their turns every
/// few operations, so that what else the machine does meets all alike.
std::vector<double> side_by_side(double seconds, const std::vector<std::function<void(long)>> &contenders) {
  constexpr int turn = 5;
  std::vector<std::vector<double>> times(contenders.size());
  const auto end = Clock::now() + std::chrono::duration<double>{seconds * static_cast<double>(contenders.size())};
  for (bool forwards = true; Clock::now() < end; forwards = !forwards)
    for (std::size_t place = 0; place < contenders.size(); ++place) {
      const std::size_t who = forwards ? place : contenders.size() - 1 - place;
      for (int i = 0; i < turn; ++i) {
        const auto begun = Clock::now();
        contenders[who](static_cast<long>(times[who].size()));
        times[who].push_back(std::chrono::duration<double, std::micro>{Clock::now() - begun}.count());
      }
    }
  std::vector<double> medians;
  for (std::vector<double> &each : times)
    medians.push_back(median(std::move(each)));
  return medians;
}

std::string name_of(long number) { return "bench/" + std::to_string(number % 1000); }

void aim(const char *what, double value, const char *unit, double most) {
  std::printf("  %-44s %8.3f %-12s aim at most %g   %s\n", what, value, unit, most, value <= most ? "met" : "MISSED");
}

void pair(int rounds, double seconds) {
  using Values = std::vector<gatepost::Value>;
  namespace sql = gatepost::detail::sql;
  gatepost::Client client{"application_name=bench"};
  pqxx::connection connection;
  const auto by_library = [&](long number) { (void)client.try_acquire(name_of(number), 30s)->release(); };
  // The same values too: whoever wants a lost answer to be asked for again sends an id along.
  const auto by_hand = [&](long number) {
    pqxx::nontransaction transaction{connection};
    const std::string name = name_of(number);
    const Values grant{name, "30 s", {}, {}, gatepost::detail::request_id()};
    const auto token =
        gatepost::detail::ask_with_values(transaction, sql::lease_acquire, grant)[0][0].as<std::string>();
    gatepost::detail::ask_with_values(transaction, sql::lease_release, Values{name, token});
  };
  const auto shortest = [&](long number) {
    pqxx::nontransaction transaction{connection};
    const std::string name = name_of(number);
    const auto token =
        gatepost::detail::ask(transaction, "SELECT gatepost.lease_acquire($1, $2::interval)", name, "30 s")[0][0]
            .as<std::int64_t>();
    gatepost::detail::ask(transaction, "SELECT gatepost.lease_release($1, $2)", name, token);
  };
  const std::vector<std::function<void(long)>> contenders{by_library, by_hand, shortest};
  side_by_side(0.5, contenders);
  std::vector<double> library, hand, least, ratio, to_least;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> times = side_by_side(seconds, contenders);
    library.push_back(times[0]);
    hand.push_back(times[1]);
    least.push_back(times[2]);
    ratio.push_back(times[0] / times[1]);
    to_least.push_back(times[0] / times[2]);
  }
  std::printf("try_acquire and release, one thread\n");
  std::printf("  %-44s %8.1f us\n", "the library", median(library));
  std::printf("  %-44s %8.1f us\n", "bare libpqxx, the same statements", median(hand));
  std::printf("  %-44s %8.1f us\n", "bare libpqxx, without id, owner and metadata", median(least));
  aim("the library costs / the same statements", median(ratio), "", 1.15);
  aim("the library costs / those without", median(to_least), "", 1.15);
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
