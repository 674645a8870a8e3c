#include <gatepost/client.hpp>

#include "core.hpp"
#include "statements.hpp"

#include <algorithm>

namespace gatepost {
inline namespace v0 {

using detail::Access;
using detail::Moment;
using detail::never;

namespace {

Moment after(const detail::Core &core, Duration timeout) { return detail::later(core.now(), timeout); }

Moment at(boot_clock::time_point end) { return std::clamp(detail::moment(end), Moment{0}, never); }

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
    : core_{detail::Core::make(std::move(factory), std::move(options))} {}

Client::~Client() = default;
Client::Client(Client &&) noexcept = default;
Client &Client::operator=(Client &&) noexcept = default;

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

std::optional<Lease> Client::acquire_for(const Name &name, Duration timeout, std::optional<Ttl> ttl,
                                         const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->wait_for_grant(request, after(*core_, timeout), stop));
}

std::optional<Lease> Client::acquire_until(const Name &name, boot_clock::time_point end, std::optional<Ttl> ttl,
                                           const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = core_->request(name, ttl, options);
  return Access::maybe<Lease>(core_, core_->wait_for_grant(request, at(end), stop));
}

Lease Client::adopt(const Name &name, Token token, std::optional<Ttl> ttl, const LeaseOptions &options) {
  return Access::guard<Lease>(core_, core_->adopt(name, token, false, ttl, options));
}

Permit Client::adopt(const Semaphore &semaphore, Token token, std::optional<Ttl> ttl, const LeaseOptions &options) {
  return Access::guard<Permit>(core_, core_->adopt(semaphore.name, token, true, ttl, options));
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

std::optional<Permit> Client::acquire(const Semaphore &semaphore, std::stop_token stop, std::optional<Ttl> ttl,
                                      const LeaseOptions &options) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::maybe<Permit>(core_, core_->wait_for_grant(request, never, stop));
}

std::optional<Permit> Client::acquire_for(const Semaphore &semaphore, Duration timeout, std::optional<Ttl> ttl,
                                          const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::maybe<Permit>(core_, core_->wait_for_grant(request, after(*core_, timeout), stop));
}

std::optional<Permit> Client::acquire_until(const Semaphore &semaphore, boot_clock::time_point end,
                                            std::optional<Ttl> ttl, const LeaseOptions &options, std::stop_token stop) {
  detail::Request request = permit_request(*core_, semaphore, ttl, options);
  return Access::maybe<Permit>(core_, core_->wait_for_grant(request, at(end), stop));
}

std::optional<AdvisoryLock> Client::try_advisory_lock(const Name &name) {
  return advisory_lock_for(name, std::chrono::nanoseconds{0});
}

AdvisoryLock Client::advisory_lock(const Name &name) {
  return std::move(Access::lock(core_, core_->full(name), never, {}).value());
}

std::optional<AdvisoryLock> Client::advisory_lock(const Name &name, std::stop_token stop) {
  return Access::lock(core_, core_->full(name), never, stop);
}

std::optional<AdvisoryLock> Client::advisory_lock_for(const Name &name, Duration timeout, std::stop_token stop) {
  return Access::lock(core_, core_->full(name), after(*core_, timeout), stop);
}

void Client::with_lock(const Name &name, const std::function<void(Transaction &)> &work) {
  core_->with_lock(name, {}, work);
}

bool Client::with_lock(const Name &name, std::stop_token stop, const std::function<void(Transaction &)> &work) {
  return core_->with_lock(name, stop, work);
}

bool Client::request_yield(const Name &name, const std::string &reason) {
  const std::vector<Value> values{core_->full(name).text(), reason};
  return core_->run_settled(detail::sql::lease_request_yield, values).first() == "t";
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
