// A worker that sells items from a shared stock under a lease, and may be paused at the worst moment.
//
//   paused_worker NAME ITEMS unfenced|fenced|protected LEASE START_AT
//
// It takes the lease 'stock', reads the stock, works a little, writes the stock less its ITEMS, and releases. Work
// begins with a line, or the end, of standard input: where it is to be paused it is, however slow the pausing one is.
// It writes by a plain UPDATE, by fenced_update, or by a plain UPDATE in a transaction that uses its token; where that
// is refused it tries once more without the token, as code that knows nothing of leases would. What happens is told on
// standard output, one event a line: microseconds since 1970, name, event, token, detail, separated by tabs. START_AT
// is the moment to ask for the lease, in microseconds since 1970, or 0. Connection by PGHOST and so on.

#include "pqxx_versions.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using Clock = std::chrono::system_clock;
using gatepost::detail::ask;
using std::chrono::microseconds;

enum class Write { unfenced, fenced, protected_table };

struct Job {
  std::string worker;
  int items;
  Write write;
  std::string lease;
  Clock::time_point start_at;
};

void tell(const Job &job, const char *event, std::int64_t token, const std::string &detail) {
  const auto now = std::chrono::duration_cast<microseconds>(Clock::now().time_since_epoch()).count();
  std::cout << now << '\t' << job.worker << '\t' << event << '\t' << token << '\t' << detail << std::endl;
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '\t');
  return text;
}

int read_stock(pqxx::connection &connection) {
  pqxx::work transaction{connection};
  return transaction.exec("SELECT items FROM stock WHERE id = 1")[0][0].as<int>();
}

void write_stock(pqxx::connection &connection, const Job &job, Write write, int items, std::int64_t token) {
  pqxx::work transaction{connection};
  if (write == Write::protected_table)
    ask(transaction, "SELECT gatepost.fence_use('stock', $1)", token);
  if (write == Write::fenced)
    ask(transaction,
        "SELECT gatepost.fenced_update('stock', '{\"id\": 1}',"
        " jsonb_build_object('items', $1::integer, 'written_by', $2::text), $3::bigint)",
        items, job.worker, token);
  else
    ask(transaction, "UPDATE stock SET items = $1, written_by = $2 WHERE id = 1", items, job.worker);
  transaction.commit();
}

// Result: whether the write was let in.
bool try_write(pqxx::connection &connection, const Job &job, Write write, int items, std::int64_t token) {
  const std::string written = std::to_string(items);
  const char *way = job.write != write ? "\twithout a token" : "\tas it should";
  try {
    write_stock(connection, job, write, items, token);
    tell(job, "accepted", token, written + way);
    return true;
  } catch (const pqxx::sql_error &error) {
    tell(job, "refused", token,
         written + way + '\t' + std::string{error.sqlstate()} + '\t' + on_one_line(error.what()));
    return false;
  }
}

bool release(pqxx::connection &connection, std::int64_t token) {
  pqxx::work transaction{connection};
  const bool released = ask(transaction, "SELECT gatepost.lease_release('stock', $1)", token)[0][0].as<bool>();
  transaction.commit();
  return released;
}

int run(const Job &job) {
  pqxx::connection connection;
  gatepost::detail::stay_on_one_connection(connection);
  tell(job, "started", 0, std::to_string(getpid()));
  std::this_thread::sleep_until(job.start_at);

  std::int64_t token = 0;
  {
    pqxx::work transaction{connection};
    const auto answer =
        ask(transaction, "SELECT gatepost.lease_acquire('stock', $1::interval, owner => $2)", job.lease, job.worker);
    transaction.commit();
    if (answer[0][0].is_null()) {
      tell(job, "busy", 0, job.lease);
      return 0;
    }
    token = answer[0][0].as<std::int64_t>();
  }
  tell(job, "granted", token, job.lease);

  const int items = read_stock(connection);
  tell(job, "read", token, std::to_string(items));
  // The work. A process that is stopped here notices nothing of it.
  std::string begin;
  std::getline(std::cin, begin);
  std::this_thread::sleep_for(std::chrono::milliseconds{100});

  if (!try_write(connection, job, job.write, items - job.items, token) && job.write == Write::protected_table)
    try_write(connection, job, Write::unfenced, items - job.items, token);
  tell(job, "released", token, release(connection, token) ? "true" : "false");
  return 0;
}

} // namespace

int main(int count, char **argument) {
  if (count != 6) {
    std::cerr << "usage: paused_worker NAME ITEMS unfenced|fenced|protected LEASE START_AT\n";
    return 2;
  }
  try {
    const std::string way{argument[3]};
    const Write write = way == "protected" ? Write::protected_table : way == "fenced" ? Write::fenced : Write::unfenced;
    return run({argument[1], std::stoi(argument[2]), write, argument[4],
                Clock::time_point{microseconds{std::stoll(argument[5])}}});
  } catch (const std::exception &error) {
    std::cerr << argument[1] << ": " << error.what() << '\n';
    return 1;
  }
}
