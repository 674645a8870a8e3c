#include <gatepost/singleton.hpp>

namespace gatepost {
inline namespace v0 {

Singleton::Singleton(Client &client, Name name, std::optional<Ttl> ttl)
    : client_{&client}, name_{std::move(name)}, ttl_{ttl} {}

bool Singleton::run(const Work &work, std::stop_token stop) {
  while (true) {
    std::optional<Lease> lease = client_->acquire(name_, stop, ttl_);
    if (!lease)
      return false;
    std::stop_source either;
    const std::stop_callback on_loss{lease->stop_token(), [&either] { either.request_stop(); }};
    const std::stop_callback on_stop{stop, [&either] { either.request_stop(); }};
    work(*lease, either.get_token());
    const bool to_the_end = lease->held();
    lease->release();
    if (stop.stop_requested())
      return false;
    if (to_the_end)
      return true;
  }
}

} // namespace v0
} // namespace gatepost
