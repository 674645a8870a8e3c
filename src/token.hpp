// Tokens: drawn from one sequence for all names, flushed before they leave the server.
#pragma once

#include "pg.hpp"

namespace gatepost {

// Draws the next token. The sequence must have been locked (lock_sequence). Flush with flush_tokens before anyone sees
// it: nextval is not durable by itself, and the same value could come twice after a crash. Most flushes find that the
// log on disk covers the token already.
int64 draw_token(Oid sequence);
void flush_tokens(Oid sequence, int64 token);

// The highest token drawn so far.
int64 last_token();

// Whether the token is not above everything drawn here.
bool is_known_token(int64 token);

// Raises LG004 when it is.
void require_known_token(int64 token);

} // namespace gatepost
