// The layout of a token: 53 bits, so that clients which keep numbers as doubles lose nothing.
//
//   generation 19 | counter 29 | nonce 5
//
// One sequence holds the whole token and counts by 32: a full counter carries into the generation by itself, and the
// nonce only breaks ties between servers promoted apart.
#pragma once

#include <cstdint>

namespace gatepost {

inline constexpr int nonce_bits = 5;
inline constexpr int counter_bits = 29;
inline constexpr int generation_bits = 19;

inline constexpr int64_t token_step = int64_t{1} << nonce_bits;
inline constexpr int64_t max_generation = (int64_t{1} << generation_bits) - 1;
// One wild number must not leave a database without generations to raise to.
inline constexpr int64_t max_raised_generation = max_generation - 10000;
inline constexpr int64_t max_counter = (int64_t{1} << counter_bits) - 1;
inline constexpr int64_t max_token = (int64_t{1} << (generation_bits + counter_bits + nonce_bits)) - 1;

constexpr int64_t token_of(int64_t generation, int64_t counter, int64_t nonce) {
  return ((generation << counter_bits | counter) << nonce_bits) | nonce;
}

constexpr int64_t generation_of(int64_t token) { return token >> (counter_bits + nonce_bits); }

constexpr int64_t nonce_of(int64_t token) { return token & (token_step - 1); }

inline constexpr int64_t hour_us = int64_t{3600} * 1000 * 1000;

// 2026-01-01 00:00 UTC in microseconds since 1970: where generations count hours from.
inline constexpr int64_t first_hour_us = int64_t{1767225600} * 1000 * 1000;

// Whole hours since then, 0 before it.
constexpr int64_t hours_of(int64_t wall_us) {
  return wall_us <= first_hour_us ? 0 : (wall_us - first_hour_us) / hour_us;
}

// How far the hour has gone, as a counter: a counter that starts there is above everything drawn earlier in the hour,
// as long as less than 149,131 tokens a second were drawn.
constexpr int64_t counter_within_hour(int64_t wall_us) {
  const int64_t within = wall_us <= first_hour_us ? 0 : (wall_us - first_hour_us) % hour_us;
  return static_cast<int64_t>(static_cast<__int128>(within) * max_counter / hour_us);
}

} // namespace gatepost
