#include <gatepost/singleton.hpp>

#include "core.hpp"

namespace gatepost {
inline namespace v0 {

Singleton::Singleton(Client &client, Name name, std::optional<Ttl> ttl)
    : core_{detail::Access::core(client)}, name_{std::move(name)}, ttl_{ttl} {}

bool Singleton::run(const Work &work, std::stop_token stop) {
  while (true) {
    const LeaseOptions options;
    detail::Request request = core_->request(name_, ttl_, options);
    std::optional<Lease> lease =
        detail::Access::maybe<Lease>(core_, core_->wait_for_grant(request, detail::never, stop));
    if (!lease)
      return false;
    std::stop_source either;
    const std::stop_callback on_loss{lease->stop_token(), [&either] { either.request_stop(); }};
    const std::stop_callback on_stop{stop, [&either] { either.request_stop(); }};
    work(*lease, either.get_token());
    const bool to_the_end = lease->held();
    static_cast<void>(lease->release());
    if (stop.stop_requested())
      return false;
    if (to_the_end)
      return true;
  }
}

} // namespace v0
} // namespace gatepost
