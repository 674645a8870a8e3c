#include <gatepost/client.hpp>

#include "core.hpp"
#include "statements.hpp"

namespace gatepost {
inline namespace v0 {

using detail::Access;
using detail::Moment;

namespace {

constexpr Moment never = INT64_MAX;

Moment after(const detail::Core &core, std::chrono::nanoseconds timeout) {
  const Moment now = core.now();
  return timeout.count() > never - now ? never : now + timeout.count();
}

detail::Request permit_request(const detail::Core &core, const Semaphore &semaphore, std::optional<Ttl> ttl,
                               const LeaseOptions &options) {
  if (semaphore.permits < 1)
    throw error{"a semaphore has at least 1 permit, not " + std::to_string(semaphore.permits), "22023"};
  detail::Request request = core.request(semaphore.name, ttl, options);
  request.permits = semaphore.permits;
  request.weight = semaphore.weight;
  return request;
}

} // namespace

Client::Client(const std::string &conninfo, ClientOptions options)
    : Client{ConnectionFactory{[conninfo] { return open_connection(conninfo); }}, std::move(options)} {}

Client::Client(ConnectionFactory factory, ClientOptions options)
    : core_{std::make_shared<detail::Core>(std::move(factory), std::move(options))} {}

Client::~Client() {
  if (core_ && core_->forked())
    detail::Core::leave(std::move(core_));
}
Client::Client(Client &&) noexcept = default;
Client &Client::operator=(Client &&other) noexcept {
  if (this != &other) {
    if (core_ && core_->forked())
      detail::Core::leave(std::move(core_));
    core_ = std::move(other.core_);
  }
  return *this;
}

std::optional<Lease> Client::try_acquire(const Name &name, std::optional<Ttl> ttl, const LeaseOptions &options) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->try_grant(request));
}

Lease Client::acquire(const Name &name, std::optional<Ttl> ttl, const LeaseOptions &options) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::guard<Lease>(core_, core_->wait_for_grant(request, never, {}));
}

std::optional<Lease> Client::acquire(const Name &name, std::stop_token stop, std::optional<Ttl> ttl,
                                     const LeaseOptions &options) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->wait_for_grant(request, never, stop));
}

std::optional<Lease> Client::acquire_for(const Name &name, std::chrono::nanoseconds timeout, std::optional<Ttl> ttl,
                                         const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->wait_for_grant(request, after(*core_, timeout), stop));
}

std::optional<Lease> Client::acquire_until(const Name &name, boot_clock::time_point end, std::optional<Ttl> ttl,
                                           const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->wait_for_grant(request, detail::moment(end), stop));
}

Lease Client::adopt(const Name &name, Token token, std::optional<Ttl> ttl, const LeaseOptions &options) {
  return Access::guard<Lease>(core_, core_->adopt(name, token, ttl, options));
}

std::optional<Permit> Client::try_acquire(const Semaphore &semaphore, std::optional<Ttl> ttl,
                                          const LeaseOptions &options) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::maybe<Permit>(core_, core_->try_grant(request));
}

Permit Client::acquire(const Semaphore &semaphore, std::optional<Ttl> ttl, const LeaseOptions &options) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::guard<Permit>(core_, core_->wait_for_grant(request, never, {}));
}

std::optional<Permit> Client::acquire_for(const Semaphore &semaphore, std::chrono::nanoseconds timeout,
                                          std::optional<Ttl> ttl, const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::maybe<Permit>(core_, core_->wait_for_grant(request, after(*core_, timeout), stop));
}

std::optional<AdvisoryLock> Client::try_advisory_lock(const Name &name) {
  std::unique_ptr<Connection> connection = core_->session();
  if (connection->execute(detail::sql::try_session_lock, std::vector<Value>{core_->full(name).text()}).first() != "t")
    return std::nullopt;
  return Access::lock(core_, core_->full(name), std::move(connection));
}

AdvisoryLock Client::advisory_lock(const Name &name) {
  std::unique_ptr<Connection> connection = core_->session();
  connection->execute(detail::sql::session_lock, std::vector<Value>{core_->full(name).text()});
  return Access::lock(core_, core_->full(name), std::move(connection));
}

void Client::with_lock(const Name &name, const std::function<void(Transaction &)> &work) {
  core_->with_lock(name, work);
}

bool Client::request_yield(const Name &name, const std::string &reason) {
  const std::vector<Value> values{core_->full(name).text(), reason};
  return core_->run(detail::sql::lease_request_yield, values).first() == "t";
}

Rows Client::execute(const std::string &sql, std::span<const Value> parameters) { return core_->run(sql, parameters); }

std::optional<bool> Client::notifications_arrive() const noexcept { return core_->notifications_arrive(); }
const ClientOptions &Client::options() const noexcept { return core_->options(); }

void Client::finish(Lease &lease) {
  const std::optional<Loss> before = lease.loss();
  const bool released = lease.release();
  if (before || !released)
    throw lease_lost{lease.name().text(), before.value_or(Loss::unknown)};
}

} // namespace v0
} // namespace gatepost
