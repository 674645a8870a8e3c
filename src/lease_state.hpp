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
  superseded, // lapsed, and a rung has taken the name since
};

const char *state_name(State state);

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

// Whether the row shuts the name.
inline bool is_live(State state) { return state == State::held || state == State::recovering; }

} // namespace gatepost
