// The tokens that this transaction uses, in backend memory: a setting would leak through a transaction pooler. A use
// begins with fence_use and ends with its (sub)transaction, as the holder tag does that goes with it.
#pragma once

#include "arguments.hpp"
#include "pg.hpp"

namespace gatepost {

// Notes a use. The holder tag must have been taken in this (sub)transaction.
void note_use(LeaseName name, int64 token);

// An own grant ends the use of the earlier token at once; a rollback to a savepoint before it brings it back.
void end_use(LeaseName name);

// The same for the one token of a permit that has been granted anew; others of the semaphore stay in use.
void end_use_of(LeaseName name, int64 token);

// Whether that token of the name is in use; of a semaphore several can be.
bool uses_token(std::string_view name, int64 token);

// The token of that name in use, 0 when there is none. Asked by a fence, it counts as asked for.
int64 token_in_use(std::string_view name);
int64 token_asked_for(std::string_view name);

// The token of the only use, 0 when there is none or more than one; *count says how many there are.
int64 only_token_asked_for(int *count);

// Whether the session's latest use was of that name ('' is any) and ended with a transaction of its own, having guarded
// nothing.
bool ended_alone(std::string_view name);

// Whether any use is open.
bool uses_any_token();

// Changes with every use that begins or ends: what a fence has found out holds while it is the same.
uint64 uses_version();

void register_use_callbacks();

} // namespace gatepost
