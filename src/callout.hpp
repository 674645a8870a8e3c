// The call-out guard: one server call made from a C++ frame that owns something. A server error inside becomes a
// C++ exception, so the frame unwinds; the edge guard turns it back into the same server error. Catching it does not
// heal the transaction: whoever catches must let it reach the edge, or have opened a subtransaction.
#pragma once

#include "pg.hpp"

#include <type_traits>

namespace gatepost {

// A server error on its way to the edge. The report lives in the memory context of the call.
struct ServerError {
  ErrorData *report;
};

void call_out_unsafe(void (*call)(void *), void *argument);

// Runs one server call. Throws ServerError. The callable must own nothing: its frame is jumped over.
template <class Call> void call_out(Call call) {
  static_assert(std::is_trivially_destructible_v<Call>);
  call_out_unsafe([](void *argument) { (*static_cast<Call *>(argument))(); }, &call);
}

} // namespace gatepost
