#include "callout.hpp"

#include "mutant.hpp"

namespace gatepost {

void call_out_unsafe(void (*call)(void *), void *argument) {
  if (mutant("callout_unguarded"))
    return call(argument);
  const MemoryContext context = CurrentMemoryContext;
  ErrorData *volatile report = nullptr;
  PG_TRY();
  { call(argument); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    report = CopyErrorData();
    FlushErrorState();
  }
  PG_END_TRY();
  // Thrown only here, with the server's exception stack as it was before the call.
  if (report != nullptr)
    throw ServerError{report};
}

} // namespace gatepost
