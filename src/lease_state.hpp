// What a row means at one moment: the state table of docs/reference.md, as far as one row can tell.
#pragma once

#include "slot_layout.hpp"

namespace gatepost {

enum class State {
  held,
  recovering, // granted before this boot, or on another server: counted as live until its ttl has passed since then
  lapsed,
  released,
  broken,
  superseded, // lapsed, and a rung has taken the name since, or permits its weight
};

const char *state_name(State state);

// What a row of that kind is, in messages: before the name.
const char *called(char kind);

// The time at which rows are judged; read under the name's mutex where the answer counts.
struct Moment {
  int64 now;  // boot-time clock
  int64 boot; // its boot
};

Moment this_moment();

State state_of(const SlotData &row, const Moment &moment);

// Microseconds until the lease lapses, 0 when it has ended. For a recovering row that no changing call has settled
// yet: its whole ttl.
int64 remaining_us(const SlotData &row, const Moment &moment);

inline bool is_live(State state) { return state == State::held || state == State::recovering; }

// gatepost.closed_after_lapse, milliseconds: a lease that lapsed shuts its name for that long, at most
// gatepost.max_ttl. One that was released or broken does not, nor one whose name a rung has taken.
extern int closed_after_lapse_ms;

// Microseconds for which the row shuts its name to everybody else, 0 when it does not.
int64 shut_us(const SlotData &row, const Moment &moment);
bool is_shut(const SlotData &row, const Moment &moment);

// How long ago the row ceased to shut the name, 0 or more; less: it shuts it, or that was in another boot.
int64 open_for_us(const SlotData &row, const Moment &moment);

} // namespace gatepost
