#include "fence.hpp"

#include "durability.hpp"
#include "errors.hpp"
#include "hash.hpp"
#include "identity.hpp"
#include "lease_state.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "permits.hpp"
#include "refusals.hpp"
#include "slots.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "uses.hpp"
#include "waiters.hpp"

namespace gatepost {
namespace {

struct UseRequest {
  LeaseName name;
  int64 token;
  bool live;
};

// A token above the caller's has been granted: that stays so, whatever is in flight.
bool is_superseded(const Look &found, int64 token) {
  return found.row != nullptr && slot_data(found.row)->token > token;
}

// Whether somebody's open transaction decides: a grant or purge, whatever becomes of it, and for a use that asks for a
// live lease a renewal or release too.
bool must_wait(const Look &found, const UseRequest &request) {
  if (!TransactionIdIsValid(found.writer) || mutant("use_flight_ignored"))
    return false;
  if ((request.live && !mutant("live_flight_ignored")) || found.going || found.row == nullptr)
    return true;
  return found.flight == nullptr || slot_data(found.flight)->token != slot_data(found.row)->token;
}

bool may_know(const SlotData &row) { return has_privs_of_role(GetUserId(), row.role) || mutant("strangers_use"); }

bool is_good(const Look &found, const UseRequest &request) {
  if (found.row == nullptr || slot_data(found.row)->token != request.token)
    return false;
  if (!may_know(*slot_data(found.row)))
    return false;
  const State state = state_of(*slot_data(found.row), this_moment());
  return is_live(state) || (state == State::lapsed && (!request.live || mutant("lapsed_called_live")));
}

[[noreturn]] void refuse_not_held(const UseRequest &request, char kind, const char *detail) {
  count_refusal({InvalidOid, &request.name, request.token, 0, RefusalReason::lease_not_held});
  ereport(ERROR,
          (errcode(lease_not_held),
           errmsg("%s \"%s\" is not held with token %lld", called(mutant("permits_called_leases") ? kind::lock : kind),
                  printable(request.name), static_cast<long long>(request.token)),
           errdetail("%s", detail)));
}

// The same whether or not the name is known, and of which kind it is.
[[noreturn]] void refuse_unknown(const UseRequest &request) {
  refuse_not_held(request, kind::lock, "It is not there, or of a role that you are no member of.");
}

[[noreturn]] void refuse_stale(const UseRequest &request, int64 current, const char *detail) {
  count_refusal({InvalidOid, &request.name, request.token, current, RefusalReason::stale_token});
  ereport(ERROR, (errcode(stale_token), errmsg("token %lld is stale", static_cast<long long>(request.token)),
                  errdetail("%s", detail), hint_superseded()));
}

[[noreturn]] void refuse_other_lease(const UseRequest &request, const char *kind, int64 latest) {
  count_refusal({InvalidOid, &request.name, request.token, latest, RefusalReason::token_of_other_lease});
  ereport(ERROR, (errcode(token_of_other_lease),
                  errmsg("token %lld is not of %s \"%s\"", static_cast<long long>(request.token), kind,
                         printable(request.name)),
                  errdetail("The latest token of that %s is %lld.", kind, static_cast<long long>(latest))));
}

// No permit of the semaphore has the token. latest: as far as the caller may know, 0 for none.
[[noreturn]] void refuse_without_permit(const UseRequest &request, int64 latest) {
  if (latest == 0)
    refuse_unknown(request);
  if (latest < request.token)
    refuse_other_lease(request, "semaphore", latest);
  refuse_stale(request, latest,
               psprintf("Semaphore \"%s\" has granted a permit with token %lld since, and has none with this one.",
                        printable(request.name), static_cast<long long>(latest)));
}

// Why the token is no good. Whoever may not know the lease is told what an absent one would tell.
[[noreturn]] void refuse(const UseRequest &request, const Look &found) {
  if (found.row == nullptr)
    refuse_unknown(request);
  const SlotData &data = *slot_data(found.row);
  if (!may_know(data))
    refuse_unknown(request);
  if (data.token > request.token)
    refuse_stale(request, data.token,
                 psprintf("%s \"%s\" has been %s with token %lld since.",
                          data.kind == kind::permit ? "The permit of" : "Lease", printable(request.name),
                          data.state == stored::broken && data.prior == request.token ? "broken" : "granted",
                          static_cast<long long>(data.token)));
  if (data.token < request.token)
    refuse_other_lease(request, "lease", data.token);
  switch (state_of(data, this_moment())) {
  case State::superseded:
    if (data.kind == kind::permit)
      refuse_stale(request, data.token,
                   psprintf("The permit of \"%s\" lapsed, and permits or an advisory lock have taken its place since.",
                            printable(request.name)));
    refuse_stale(request, data.token,
                 psprintf("Lease \"%s\" lapsed, and its name has been taken by an advisory lock since.",
                          printable(request.name)));
  case State::released:
    refuse_not_held(request, data.kind, "It has been released.");
  case State::broken:
    refuse_not_held(request, data.kind, "It has been broken.");
  default:
    refuse_not_held(request, data.kind,
                    data.kind == kind::permit ? "It has lapsed, and a live permit was asked for."
                                              : "It has lapsed, and a live lease was asked for.");
  }
}

HolderMode tag_mode() { return mutant("use_as_shared") ? HolderMode::shared : HolderMode::use; }

// What a use keeps: the tag of the name, and of a permit that of its slot too.
struct Tags {
  uint64 key;
  int32 slot; // 0: of no permit

  bool take(bool wait) const {
    if (!holder_take(key, tag_mode(), wait))
      return false;
    if (slot == 0 || slot_take(key, slot, SlotMode::use, wait))
      return true;
    drop_name();
    return false;
  }
  // Of a use that did not come about: a waiter may have found the tags taken meanwhile.
  void drop() const {
    if (slot != 0)
      slot_drop(key, slot, SlotMode::use);
    drop_name();
  }
  void drop_name() const {
    holder_drop(key, tag_mode());
    if (!mutant("dropped_tags_wake_nobody"))
      wake_first(key);
  }
};

Tags tags_of(uint64 key, const Look &found) { return {key, mutant("slots_untagged") ? 0 : slot_data(found.row)->slot}; }

enum class Outcome { used, refused, wait_for_writer, wait_for_tag };

// One try, under the mutex: look; tag without waiting; look again, since a release in flight at the first look can have
// ended before the tag was had, and with it what shut the name.
Outcome attempt(const Slots &slots, const UseRequest &request, uint64 key, Look *found) {
  *found = look_for(slots, request.name, request.token);
  if (must_wait(*found, request))
    return Outcome::wait_for_writer;
  if (!is_good(*found, request))
    return Outcome::refused;
  at(Point::use_looked);
  const Tags tags = tags_of(key, *found);
  if (!tags.take(false))
    return Outcome::wait_for_tag;
  if (mutant("use_looks_once"))
    return Outcome::used;
  *found = look_for(slots, request.name, request.token);
  if (!must_wait(*found, request) && is_good(*found, request))
    return Outcome::used;
  tags.drop();
  return must_wait(*found, request) ? Outcome::wait_for_writer : Outcome::refused;
}

// Without the mutex, since many writers share one token: look, tag, look again. Finding the row settled and good is
// exact without it; only "not found" is not. Under the tag it stays true: who grants, takes a rung or supersedes has
// the tag while he writes, so either he has written before, and the second look sees it, or he finds the tag taken.
// Whatever else the looks find, the long way decides.
bool use_at_once(const Slots &slots, const UseRequest &request, uint64 key, Look *found) {
  if (found->in_flight || !is_good(*found, request))
    return false;
  at(Point::use_looked_first);
  const Tags tags = tags_of(key, *found);
  if (!tags.take(false))
    return false;
  if (mutant("short_use_looks_once"))
    return true;
  // Another row may have taken the place, but none with this token.
  if (look_again(slots, found) && is_good(*found, request))
    return true;
  tags.drop();
  return false;
}

} // namespace

void use_lease(LeaseName name, int64 token, bool live) {
  ensure_identity();
  if (!is_known_token(token))
    count_refusal({InvalidOid, &name, token, last_token(), RefusalReason::unknown_token});
  require_known_token(token);
  if (!live && uses_token(name.bytes(), token))
    return;
  const UseRequest request{name, token, live};
  const uint64 key = key_of(name);
  for (;;) {
    Slots slots;
    open_slots(&slots, AccessShareLock, false, short_patience_us);
    Look found = look_for(slots, name, token);
    Outcome outcome = Outcome::refused;
    if (use_at_once(slots, request, key, &found))
      outcome = Outcome::used;
    // Who is stale for good learns it without the mutex too, so that asking again and again disturbs nobody.
    else if (!is_superseded(found, token) || mutant("stale_uses_disturb")) {
      mutex_lock(LockClass::mutex, key);
      outcome = attempt(slots, request, key, &found);
      mutex_unlock(LockClass::mutex, key);
    }
    const int64 latest = outcome == Outcome::refused && found.permits ? latest_permit(slots, name, true) : 0;
    close_slots(&slots);
    switch (outcome) {
    case Outcome::used:
      note_touched(key);
      // Asked again for a live lease, it is one use all the same.
      if (!uses_token(name.bytes(), token))
        note_use(name, token);
      note_holder_tag();
      return;
    case Outcome::refused:
      if (found.permits)
        refuse_without_permit(request, latest);
      refuse(request, found);
    case Outcome::wait_for_writer:
      XactLockTableWait(found.writer, nullptr, nullptr, XLTW_None);
      break;
    case Outcome::wait_for_tag: {
      // A lock on the name of a lapsed lease is waited for by another, or a transaction that is about to end has one on
      // what it has released.
      const Tags tags = tags_of(key, found);
      // A waiter may find the tags taken between the end of this wait and an error.
      if (!mutant("waited_tags_wake_nobody") && !mutant("dropped_tags_wake_nobody"))
        note_touched(key);
      tags.take(true);
      at(Point::tag_waited);
      tags.drop();
      break;
    }
    }
  }
}

} // namespace gatepost
