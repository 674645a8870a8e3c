#include "permits.hpp"

#include "hash.hpp"
#include "mutant.hpp"

namespace gatepost {
namespace {

struct Hint {
  int64 token;
  int32 slot;
};

constexpr int hint_count = 256;
Hint hints[hint_count];

Hint *hint_of(int64 token) { return &hints[mixed(static_cast<uint64>(token)) % hint_count]; }

bool has_token(const SlotData &row, int64 token) {
  return row.kind == kind::permit && (row.token == token || (row.state == stored::broken && row.prior == token));
}

bool has_token(HeapTuple row, int64 token) { return row != nullptr && has_token(*slot_data(row), token); }

// The slot of the permit with that token, 0 when there is none.
int32 slot_with(const Slots &slots, LeaseName name, int64 token) {
  int32 slot = 0;
  const auto is_sought = [token](const SlotData &flight) { return has_token(flight, token); };
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    if ((found->has_row && has_token(found->row, token)) || found->any_flight(is_sought)) {
      slot = found->slot;
      break;
    }
  end_walk(&walk);
  return slot;
}

} // namespace

bool becomes_lease(const Look &found) {
  return found.row != nullptr && found.flight != nullptr && slot_data(found.row)->kind != kind::lock &&
         slot_data(found.flight)->kind == kind::lock && !mutant("new_kind_unseen");
}

bool is_semaphore(const Look &found) {
  if (becomes_lease(found))
    return false;
  const HeapTuple row = found.row != nullptr ? found.row : found.flight;
  return row != nullptr ? slot_data(row)->kind != kind::lock : found.permits && !mutant("limit_in_flight_unseen");
}

Look look_for(const Slots &slots, LeaseName name, int64 token) {
  SlotReader reader;
  open_reader(&reader, slots);
  const Look found = look_for(&reader, slots, name, token);
  close_reader(&reader);
  return found;
}

Look look_for(SlotReader *reader, const Slots &slots, LeaseName name, int64 token) {
  const Hint hint = *hint_of(token);
  if (hint.token == token) {
    const Look found = look(reader, name, hint.slot);
    if (has_token(found.row, token) || mutant("tokens_uncompared"))
      return found;
  }
  const Look first = look(reader, name, 0);
  if (!is_semaphore(first))
    return first;
  Look none{};
  none.permits = true;
  const int32 slot = slot_with(slots, name, token);
  if (slot == 0)
    return none;
  const Look found = look(reader, name, slot);
  // Without the mutex it may have moved on meanwhile.
  if (!has_token(found.row, token) &&
      !any_flight(found, [token](const SlotData &flight) { return has_token(flight, token); }))
    return none;
  remember_permit(token, slot);
  return found;
}

void remember_permit(int64 token, int32 slot) { *hint_of(token) = {token, slot}; }

int64 latest_permit(const Slots &slots, LeaseName name, bool own_only) {
  int64 latest = 0;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    if (found->has_row && (!own_only || has_privs_of_role(GetUserId(), found->row.role)))
      latest = Max(latest, found->row.token);
  end_walk(&walk);
  return latest;
}

List *live_permits(const Slots &slots, LeaseName name, const Moment &moment) {
  List *live = NIL;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    if (found->weight_taken(moment) > 0)
      live = lappend_int(live, found->slot);
  end_walk(&walk);
  return live;
}

Standing standing_of(const Look &lease, const Moment &moment) {
  Standing standing{};
  standing.in_flight = lease.in_flight;
  standing.own_change = lease.own_change;
  standing.writer = lease.writer;
  if (lease.row == nullptr)
    return standing;
  const SlotData &row = *slot_data(lease.row);
  standing.shut = is_shut(row, moment);
  standing.lapsed = state_of(row, moment) == State::lapsed;
  standing.remaining_us = shut_us(row, moment);
  return standing;
}

Standing standing_of(const Slots &slots, LeaseName name, const Moment &moment) {
  Standing standing{};
  standing.remaining_us = -1;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk)) {
    standing.own_change |= found->own_change;
    if (found->in_flight) {
      standing.in_flight = true;
      standing.writer = found->writer;
    } else if (found->is_shut(moment)) {
      const int64 remaining = shut_us(found->row, moment);
      standing.remaining_us = standing.shut ? Min(standing.remaining_us, remaining) : remaining;
      standing.shut = true;
    } else if (found->has_row && state_of(found->row, moment) == State::lapsed) {
      standing.lapsed = true;
    }
  }
  end_walk(&walk);
  return standing;
}

void mark_permits_superseded(const Slots &slots, LeaseName name, const Moment &moment) {
  List *lapsed = NIL;
  SlotWalk walk;
  begin_walk(&walk, slots, name, 1, last_slot);
  while (const SlotVersions *found = next_slot(&walk))
    if (found->has_row && state_of(found->row, moment) == State::lapsed)
      lapsed = lappend_int(lapsed, found->slot);
  end_walk(&walk);
  ListCell *cell;
  foreach (cell, lapsed)
    mark_superseded(slots, name, lfirst_int(cell));
  list_free(lapsed);
}

} // namespace gatepost
