#include "server.hpp"

#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace gatepost::test {

std::string fresh(const std::string &stem) {
  static std::atomic<int> count{0};
  return stem + '/' + std::to_string(getpid()) + '.' + std::to_string(++count);
}

std::string direct(const std::string &application) { return "application_name=" + application; }

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

bool is_held(const std::string &name) {
  return ask("SELECT count(*) FROM gatepost.leases WHERE name = $1 AND state = 'held'", {name}) != "0";
}

std::int64_t take(const std::string &name, const std::string &ttl) {
  return std::stoll("0" + ask("SELECT gatepost.lease_acquire($1, $2::interval)", {name, ttl}));
}

void give(const std::string &name, std::int64_t token) {
  ask("SELECT gatepost.lease_release($1, $2::bigint)", {name, std::to_string(token)});
}

boot_clock::time_point server_deadline(const std::string &name, Token token) {
  return boot_clock::time_point{std::chrono::microseconds{
      std::stoll("0" + ask("SELECT deadline FROM gatepost.lease_slots WHERE name = $1 AND token = $2::bigint",
                           {name, to_string(token)}))}};
}

int terminate(const std::string &application) {
  return std::stoi(
      ask("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = $1",
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
