// Leader election: one of many leads, for as long as its lease holds.
#pragma once

#include <gatepost/client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace gatepost {
inline namespace v0 {

/// Who leads.
struct Leader {
  Token token;
  std::string owner{};
};

struct ElectionOptions {
  std::optional<Ttl> ttl{};
  /// The label by which observe() names this candidate, instead of the client's.
  std::string owner{};
  /// One term only: after it, no further campaign.
  bool once = false;
};

/// Campaigns from its making until resign() or its end, on a thread of its own. When elected it calls lead(lease, stop)
/// there. Stop is requested when the lease is lost, and by resign(); work has to end then, with all that it has begun.
/// What a std::stop_callback does at it must not wait, as with Grant::stop_token().
/// Only after it has returned is the lease given back, and renewed until then; so the next leader begins after this
/// one's work has stopped, or after this one's deadline. When lead returns by itself, or throws (which is logged), the
/// lease is given back and it campaigns again.
///
/// The client may be moved meanwhile, or end before it.
///
/// All members may be called by any threads at once; resign() and destroying not from lead itself.
class GATEPOST_API LeaderElection {
public:
  using Lead = std::function<void(const Lease &lease, std::stop_token stop)>;

  /// Throws unavailable when no thread is to be had.
  LeaderElection(Client &client, const Name &name, Lead lead, ElectionOptions options = {});
  /// As resign().
  ~LeaderElection();
  LeaderElection(const LeaderElection &) = delete;
  LeaderElection &operator=(const LeaderElection &) = delete;

  /// Without the network. False from the moment of resign() on, and at the latest at the lease's own deadline.
  bool is_leader() const noexcept;
  /// Stops campaigning and leading; returns when the work has ended and the lease has been given back.
  void resign() noexcept;
  /// Returns when a campaign of one term is over. Throws unavailable in a child of a fork.
  void wait();
  /// Asks the server who leads, by the last word that has been committed; empty: nobody. Throws as the client's calls.
  std::optional<Leader> observe() const;

private:
  struct Campaign;
  std::shared_ptr<Campaign> campaign_;
};

} // namespace v0
} // namespace gatepost
