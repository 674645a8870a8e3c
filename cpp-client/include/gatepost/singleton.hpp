// Exactly one instance runs this.
#pragma once

#include <gatepost/client.hpp>

#include <functional>
#include <memory>
#include <stop_token>

namespace gatepost {
inline namespace v0 {

/// Of all processes that have a singleton of one name, one at a time runs the work; another begins when it has ended,
/// or when its lease has. Runs on the caller's thread. Its client may be moved meanwhile, or end before it.
class GATEPOST_API Singleton {
public:
  using Work = std::function<void(const Lease &lease, std::stop_token stop)>;

  Singleton(Client &client, Name name, std::optional<Ttl> ttl = {});

  /// Waits for its turn, and runs the work. True: it returned, and held the lease to the end. False: stop was
  /// requested. After a loss the work is stopped, and when it has returned, waits for its turn again. What it throws is
  /// thrown here. `stop` is passed on to the work; what a std::stop_callback does at it must not wait, as with
  /// Grant::stop_token(). Throws as Client::acquire().
  bool run(const Work &work, std::stop_token stop = {});

private:
  std::shared_ptr<detail::Core> core_;
  Name name_;
  std::optional<Ttl> ttl_;
};

} // namespace v0
} // namespace gatepost
