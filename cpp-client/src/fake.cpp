#include <gatepost/fake.hpp>

#include "hold.hpp"
#include "statements.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace gatepost {
inline namespace v0 {

namespace detail::fake {

/// Stands still until it is moved. Begins well after zero, since zero means none.
class SettableClock final : public TimeSource {
public:
  boot_clock::time_point now() const noexcept override {
    return boot_clock::time_point{std::chrono::nanoseconds{now_.load()}};
  }
  std::chrono::nanoseconds nap() const noexcept override { return std::chrono::milliseconds{2}; }
  void advance(std::chrono::nanoseconds time) noexcept {
    Moment now = now_.load();
    while (!now_.compare_exchange_weak(now, detail::later(now, time))) {
    }
  }

private:
  std::atomic<Moment> now_{std::chrono::nanoseconds{std::chrono::hours{24}}.count()};
};

struct Row {
  std::string name;
  std::int64_t token;
  Moment ttl, deadline;
  std::string request, owner, status; ///< status "held" while it has not been ended
  int permits = 0, weight = 1;
};

Moment parse_interval(const Value &text) { return std::stoll(text.value_or("0")) * 1000; }

/// The elements of an array as the library writes them.
std::vector<std::string> parse_array(const std::string &text) {
  std::vector<std::string> elements;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    std::string element;
    const bool quoted = text[i] == '"';
    for (i += quoted; i + 1 < text.size() && text[i] != (quoted ? '"' : ','); ++i) {
      i += quoted && text[i] == '\\';
      element += text[i];
    }
    i += quoted;
    elements.push_back(element);
  }
  return elements;
}

} // namespace detail::fake

using namespace detail::fake;
using detail::Moment;

struct FakeServer::Memory {
  std::shared_ptr<SettableClock> clock = std::make_shared<SettableClock>();
  mutable std::mutex mutex;
  bool refusing = false;
  std::int64_t last_token = 1000;
  std::vector<Row> rows;
  std::map<std::string, std::string> yields;
  std::map<std::string, unsigned> renewals;
  std::map<std::string, const void *> locks;

  Moment now() const { return detail::moment(clock->now()); }
  bool live(const Row &row) const { return row.status == "held" && now() < row.deadline; }
  std::string status(const Row &row) const { return row.status == "held" && !live(row) ? "lapsed" : row.status; }
  Row *find(std::string_view name, std::string_view token) {
    for (Row &row : rows)
      if (row.name == name && std::to_string(row.token) == token)
        return &row;
    return nullptr;
  }
  bool busy(std::string_view name) const {
    for (const Row &row : rows)
      if (row.name == name && live(row))
        return true;
    return locks.contains(std::string{name});
  }
  Row &grant(const std::string &name, Moment ttl) {
    std::erase_if(rows, [&](const Row &row) { return row.name == name && row.permits == 0 && row.status == "gone"; });
    for (Row &row : rows)
      if (row.name == name && row.permits == 0)
        row.status = "superseded";
    yields.erase(name);
    last_token += 32;
    return rows.emplace_back(Row{name, last_token, ttl, now() + ttl, {}, {}, "held"});
  }

  Value acquire(std::span<const Value> p, bool permit) {
    const std::string &name = *p[0];
    for (const Row &row : rows)
      if (row.name == name && live(row) && row.request == p[4])
        return std::to_string(row.token);
    const int permits = permit ? std::stoi(*p[5]) : 0, weight = permit ? std::stoi(*p[6]) : 1;
    int taken = 0;
    for (const Row &row : rows)
      taken += row.name == name && live(row) ? row.weight : 0;
    if (permit ? taken + weight > permits : busy(name))
      return {};
    Row &row = permit ? rows.emplace_back(Row{name, last_token += 32, 0, 0, {}, {}, "held"}) : grant(name, 0);
    row.ttl = parse_interval(p[1]);
    row.deadline = now() + row.ttl;
    row.owner = p[2].value_or("");
    row.request = *p[4];
    row.permits = permits;
    row.weight = weight;
    return std::to_string(row.token);
  }

  bool renew(Row *row) {
    if (row == nullptr || !live(*row))
      return false;
    row->deadline = now() + row->ttl;
    ++renewals[row->name];
    return true;
  }

  Rows renew_many(std::span<const Value> p) {
    Rows answer;
    const std::vector<std::string> names = parse_array(*p[0]), tokens = parse_array(*p[1]);
    for (std::size_t i = 0; i < names.size(); ++i) {
      Row *row = find(names[i], tokens[i]);
      if (!renew(row))
        answer.rows.push_back({names[i], tokens[i], "lost", row != nullptr ? status(*row) : "unknown"});
      else if (const auto yield = yields.find(names[i]); yield != yields.end())
        answer.rows.push_back({names[i], tokens[i], "yield", yield->second});
    }
    return answer;
  }

  Rows run(const std::string &sql, std::span<const Value> p, const void *session) {
    namespace known = detail::sql;
    const auto one = [](Value value) { return Rows{{{std::move(value)}}, false}; };
    const auto truth = [&](bool value) { return one(value ? "t" : "f"); };
    if (sql == known::lease_acquire)
      return one(acquire(p, false));
    if (sql == known::semaphore_acquire)
      return one(acquire(p, true));
    if (sql == known::lease_renew) {
      Row *row = find(*p[0], *p[1]);
      if (row != nullptr && p[2])
        row->ttl = parse_interval(p[2]);
      return truth(renew(row));
    }
    if (sql == known::lease_renew_many)
      return renew_many(p);
    if (sql == known::lease_release) {
      Row *row = find(*p[0], *p[1]);
      const bool held = row != nullptr && live(*row);
      if (held)
        row->status = "released";
      return truth(held);
    }
    if (sql == known::lease_status) {
      const Row *row = find(*p[0], *p[1]);
      return one(row != nullptr ? status(*row) : "unknown");
    }
    if (sql == known::kind_of) {
      const Row *row = find(*p[0], *p[1]);
      return row != nullptr ? one(row->permits > 0 ? "permit" : "lease") : Rows{};
    }
    if (sql == known::lease_request_yield) {
      if (busy(*p[0]))
        yields[*p[0]] = *p[1];
      return truth(busy(*p[0]));
    }
    if (sql == known::leader) {
      for (const Row &row : rows)
        if (row.name == *p[0] && live(row))
          return Rows{{{std::to_string(row.token), row.owner}}, false};
      return {};
    }
    if (sql == known::try_session_lock || sql == known::session_lock) {
      const bool taken = busy(*p[0]);
      if (!taken)
        locks[*p[0]] = session;
      else if (sql == known::session_lock || parse_interval(p[1]) > 0)
        throw error{"a fake server does not wait for locks", "55P03"};
      return truth(!taken);
    }
    if (sql == known::session_unlock) {
      if (const auto place = locks.find(*p[0]); place != locks.end() && place->second == session)
        locks.erase(place);
      else
        throw error{"the lock is not held", "55000"};
      return one("");
    }
    if (sql == known::backend_pid || sql == known::alive || sql == known::notice_our_end)
      return one("1");
    throw error{"a fake server cannot do this: " + sql, "42883"};
  }
};

namespace {

class FakeConnection final : public Connection {
public:
  explicit FakeConnection(std::shared_ptr<FakeServer::Memory> memory) : memory_{std::move(memory)} {
    const std::lock_guard lock{memory_->mutex};
    if (memory_->refusing)
      throw unavailable{"the fake server refuses connections", "08001"};
  }
  ~FakeConnection() override {
    const std::lock_guard lock{memory_->mutex};
    std::erase_if(memory_->locks, [this](const auto &lock) { return lock.second == this; });
  }
  Rows execute(const std::string &sql, std::span<const Value> parameters) override {
    const std::lock_guard lock{memory_->mutex};
    if (memory_->refusing || aborted_)
      throw unavailable{"the fake server has cut the connection", "08006"};
    return memory_->run(sql, parameters, this);
  }
  void listen(const std::string &) override {}
  void unlisten(const std::string &) override {}
  std::vector<std::string> notifications() override { return {}; }
  int socket() const noexcept override { return -1; }
  int backend_pid() const noexcept override { return 1; }
  void abort() noexcept override { aborted_ = true; }

private:
  const std::shared_ptr<FakeServer::Memory> memory_;
  std::atomic<bool> aborted_{false};
};

} // namespace

FakeServer::FakeServer() : memory_{std::make_shared<Memory>()} {}
FakeServer::~FakeServer() = default;

ConnectionFactory FakeServer::factory() const {
  return [memory = memory_] { return std::make_unique<FakeConnection>(memory); };
}

ClientOptions FakeServer::options() const {
  ClientOptions options;
  options.clock = memory_->clock;
  return options;
}

boot_clock::time_point FakeServer::now() const noexcept { return memory_->clock->now(); }
void FakeServer::advance(Duration time) { memory_->clock->advance(time); }

void FakeServer::refuse(bool refuse) {
  const std::lock_guard lock{memory_->mutex};
  memory_->refusing = refuse;
}

Token FakeServer::supersede(const Name &name) {
  const std::lock_guard lock{memory_->mutex};
  Row &row = memory_->grant(name.text(), std::chrono::nanoseconds{std::chrono::hours{24}}.count());
  row.owner = "somebody else";
  return Token{row.token};
}

void FakeServer::take_away(const Name &name) {
  const std::lock_guard lock{memory_->mutex};
  for (Row &row : memory_->rows)
    if (row.name == name.text() && memory_->live(row))
      row.status = "broken";
}

void FakeServer::free(const Name &name) {
  const std::lock_guard lock{memory_->mutex};
  for (Row &row : memory_->rows)
    if (row.name == name.text() && memory_->live(row))
      row.status = "released";
}

void FakeServer::request_yield(const Name &name, const std::string &reason) {
  const std::lock_guard lock{memory_->mutex};
  memory_->yields[name.text()] = reason;
}

bool FakeServer::is_held(const Name &name) const {
  const std::lock_guard lock{memory_->mutex};
  return memory_->busy(name.text());
}

unsigned FakeServer::renewals(const Name &name) const {
  const std::lock_guard lock{memory_->mutex};
  const auto place = memory_->renewals.find(name.text());
  return place == memory_->renewals.end() ? 0 : place->second;
}

} // namespace v0
} // namespace gatepost
