#include <gatepost/election.hpp>

#include "core.hpp"
#include "mutant.hpp"
#include "process.hpp"
#include "statements.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace gatepost {
inline namespace v0 {

struct LeaderElection::Campaign {
  Campaign(std::shared_ptr<detail::Core> core_, Name name_, Lead lead_, ElectionOptions options_)
      : core{std::move(core_)}, name{std::move(name_)}, lead{std::move(lead_)}, options{std::move(options_)} {}

  std::shared_ptr<detail::Core> core;
  Name name;
  Lead lead;
  ElectionOptions options;

  std::stop_source resigning;
  mutable std::mutex mutex;
  std::condition_variable ended;
  const Lease *term = nullptr; ///< of the running term
  bool over = false;
  std::mutex joining;
  std::thread thread;

  void run() noexcept {
    unsigned failures = 0;
    while (!resigning.stop_requested()) {
      try {
        serve();
        failures = 0;
        if (options.once)
          break;
      } catch (const std::exception &error) {
        core->hooks().log(LogLevel::error, "election \"" + name.text() + "\": " + error.what());
        pause(detail::backoff(failures++));
      } catch (...) {
        core->hooks().log(LogLevel::error, "election \"" + name.text() + "\": the connection factory threw");
        pause(detail::backoff(failures++));
      }
    }
    const std::lock_guard lock{mutex};
    over = true;
    ended.notify_all();
  }

  void pause(std::chrono::nanoseconds time) {
    std::mutex own;
    std::condition_variable_any never;
    std::unique_lock lock{own};
    never.wait_for(lock, resigning.get_token(), time, [] { return false; });
  }

  /// One term, if it comes to one.
  void serve() {
    LeaseOptions lease_options;
    lease_options.owner = options.owner;
    detail::Request request = core->request(name, options.ttl, lease_options);
    std::optional<Lease> lease =
        detail::Access::maybe<Lease>(core, core->wait_for_grant(request, INT64_MAX, resigning.get_token()));
    if (!lease)
      return;
    std::stop_source stop;
    const std::stop_callback on_loss{lease->stop_token(), [&stop] { stop.request_stop(); }};
    const std::stop_callback on_resigning{resigning.get_token(), [&] {
                                            stop.request_stop();
                                            if (detail::mutant("worker_not_awaited"))
                                              static_cast<void>(lease->release());
                                          }};
    publish(&*lease);
    try {
      if (!stop.stop_requested())
        lead(*lease, stop.get_token());
      if (detail::mutant("led_again"))
        lead(*lease, stop.get_token());
    } catch (const std::exception &error) {
      core->hooks().log(LogLevel::error, "leading \"" + name.text() + "\" threw: " + error.what());
    } catch (...) {
      core->hooks().log(LogLevel::error, "leading \"" + name.text() + "\" threw");
    }
    publish(nullptr);
  }

  void publish(const Lease *lease) {
    const std::lock_guard lock{mutex};
    term = lease;
  }
};

LeaderElection::LeaderElection(Client &client, const Name &name, Lead lead, ElectionOptions options)
    : campaign_{std::make_shared<Campaign>(detail::Access::core(client), name, std::move(lead), std::move(options))} {
  campaign_->thread = detail::start_thread("gatepost-lead", [campaign = campaign_.get()] { campaign->run(); });
}

LeaderElection::~LeaderElection() {
  if (campaign_->core->forked()) {
    // Neither the thread nor the lease is this process's.
    new std::shared_ptr<Campaign>{std::move(campaign_)};
    return;
  }
  resign();
}

bool LeaderElection::is_leader() const noexcept {
  // Nor does a child ask for a mutex that the parent's thread may have had at the fork.
  if (campaign_->resigning.stop_requested() || campaign_->core->forked())
    return false;
  const std::lock_guard lock{campaign_->mutex};
  return campaign_->term != nullptr && campaign_->term->held();
}

void LeaderElection::resign() noexcept {
  if (campaign_->core->forked())
    return;
  campaign_->resigning.request_stop();
  const std::lock_guard lock{campaign_->joining};
  if (campaign_->thread.joinable())
    campaign_->thread.join();
}

void LeaderElection::wait() {
  campaign_->core->check_process();
  std::unique_lock lock{campaign_->mutex};
  campaign_->ended.wait(lock, [this] { return campaign_->over; });
}

std::optional<Leader> LeaderElection::observe() const {
  const std::vector<Value> values{campaign_->core->full(campaign_->name).text()};
  const Rows rows =
      campaign_->core->read(detail::mutant("leader_at_rest_only")
                                ? "SELECT token, owner FROM gatepost.leases WHERE name = $1 AND state = 'held'"
                                : detail::sql::leader,
                            values);
  if (rows.rows.empty() || !rows.rows[0][0])
    return std::nullopt;
  return Leader{Token{std::stoll(*rows.rows[0][0])}, rows.rows[0][1].value_or("")};
}

} // namespace v0
} // namespace gatepost
