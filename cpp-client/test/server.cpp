#include "server.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace gatepost::test {

std::string fresh(const std::string &stem) {
  static std::atomic<int> count{0};
  return stem + '/' + std::to_string(getpid()) + '.' + std::to_string(++count);
}

// Connections of tests wait longer than a busy machine does anything else first.
std::string direct(const std::string &application) { return "application_name=" + application + " connect_timeout=60"; }

std::string ask(const std::string &sql, const std::vector<Value> &parameters) {
  return open_connection(direct("test"))->execute(sql, parameters).first().value_or("");
}

void prepare() {
  ask("SET client_min_messages = warning");
  ask("CREATE EXTENSION IF NOT EXISTS gatepost");
  if (ask("SELECT to_regprocedure('gatepost.lease_renew_many(text[], bigint[], interval)')").empty())
    ask(R"(
      CREATE FUNCTION gatepost.lease_renew_many(names text[], tokens bigint[], ttl interval DEFAULT NULL)
      RETURNS TABLE (name text, token bigint, status text, detail text) LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      DECLARE asked record;
      BEGIN
        FOR asked IN SELECT * FROM unnest(names, tokens) AS u(n, t) LOOP
          BEGIN
            IF NOT gatepost.lease_renew(asked.n, asked.t) THEN
              RETURN QUERY SELECT asked.n, asked.t, 'lost'::text, gatepost.lease_status(asked.n, asked.t);
            END IF;
          EXCEPTION WHEN SQLSTATE 'LG010' THEN
            RETURN QUERY SELECT asked.n, asked.t, 'in_flight'::text, NULL::text;
          END;
        END LOOP;
      END $$)");
}

int held_below(const std::string &stem) {
  return std::stoi(ask("SELECT count(*) FROM gatepost.leases WHERE starts_with(name, $1) AND remaining > '0'", {stem}));
}

bool is_held(const std::string &name) {
  return ask("SELECT count(*) FROM gatepost.leases WHERE name = $1 AND remaining > '0'", {name}) != "0";
}

bool is_renewed(const Grant &guard) {
  const auto then = guard.deadline();
  return eventually([&] { return guard.deadline() > then || !guard.held(); }) && guard.held();
}

std::int64_t take(const std::string &name, const std::string &ttl) {
  return std::stoll("0" + ask("SELECT gatepost.lease_acquire($1, $2::interval)", {name, ttl}));
}

bool are_renewed(const std::vector<Lease> &guards) {
  std::vector<boot_clock::time_point> then;
  for (const Lease &guard : guards)
    then.push_back(guard.deadline());
  for (std::size_t i = 0; i < guards.size(); ++i)
    if (!eventually([&] { return guards[i].deadline() > then[i] || !guards[i].held(); }) || !guards[i].held())
      return false;
  return true;
}

/// Again while the row is being renewed.
static void ask_settled(const std::string &sql, const std::vector<Value> &parameters) {
  const bool asked = eventually([&] {
    try {
      ask(sql, parameters);
      return true;
    } catch (const error &refused) {
      if (refused.sqlstate() != std::string_view{"LG010"})
        throw;
      return false;
    }
  });
  if (!asked)
    throw error{"the lease stays in flight", "LG010"};
}

void give(const std::string &name, std::int64_t token) {
  ask_settled("SELECT gatepost.lease_release($1, $2::bigint)", {name, std::to_string(token)});
}

void break_lease(const std::string &name) { ask_settled("SELECT gatepost.lease_break($1)", {name}); }

boot_clock::time_point server_deadline(const std::string &name, Token token) {
  return boot_clock::time_point{std::chrono::microseconds{
      std::stoll("0" + ask("SELECT deadline FROM gatepost.lease_slots WHERE name = $1 AND token = $2::bigint",
                           {name, to_string(token)}))}};
}

int terminate(const std::string &application) {
  return std::stoi(
      ask("SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE application_name = $1",
          {application}));
}

std::vector<int> backends(const std::string &application) {
  std::vector<int> pids;
  const std::vector<Value> parameters{application};
  for (const auto &row : open_connection(direct("test"))
                             ->execute("SELECT pid FROM pg_stat_activity WHERE application_name = $1", parameters)
                             .rows)
    pids.push_back(std::stoi(*row[0]));
  return pids;
}

Role::Role(const std::string &stem) : name_{fresh(stem)}, quoted_{'"' + name_ + '"'} {
  // One that was left by a process with the same number.
  if (ask("SELECT count(*) FROM pg_roles WHERE rolname = $1", {name_}) != "0") {
    ask("DROP OWNED BY " + quoted_);
    ask("DROP ROLE " + quoted_);
  }
  ask("CREATE ROLE " + quoted_ + " LOGIN");
  ask("GRANT USAGE ON SCHEMA gatepost TO " + quoted_);
}

Role::~Role() {
  try {
    ask("DROP OWNED BY " + quoted_);
    ask("DROP ROLE " + quoted_);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "role %s stays: %s\n", name_.c_str(), error.what());
  }
}

std::string Role::conninfo(const std::string &application) const {
  return direct(application) + " user='" + name_ + "'";
}

std::size_t library_threads() {
  std::size_t count = 0;
  for (const auto &task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::string name;
    std::getline(std::ifstream{task.path() / "comm"}, name);
    count += name.starts_with("gatepost-");
  }
  return count;
}

static std::atomic<bool> leaks_left{false};
void leave_leaks() { leaks_left = true; }

std::chrono::milliseconds patience() { return std::getenv("GATEPOST_MUTANT") != nullptr ? 10s : 30s; }

bool eventually(const std::function<bool()> &condition, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

struct Log::Lines {
  std::mutex mutex;
  std::string text;
};

std::shared_ptr<Log::Lines> Log::make() { return std::make_shared<Lines>(); }

LogHook Log::hook() {
  return [lines = lines_](LogLevel, std::string_view message) {
    const std::lock_guard lock{lines->mutex};
    lines->text += message;
    lines->text += '\n';
  };
}

std::string Log::text() const {
  const std::lock_guard lock{lines_->mutex};
  return lines_->text;
}

bool Log::has(const std::string &part) const { return text().find(part) != std::string::npos; }

} // namespace gatepost::test

/// libpqxx 6 loses the answers of connections that have broken.
extern "C" const char *__lsan_default_suppressions() { return "leak:libpqxx-6"; }
/// Asked by the leak sanitizer at the end.
extern "C" int __lsan_is_turned_off() { return gatepost::test::leaks_left ? 1 : 0; }
