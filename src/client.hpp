// Who is calling, for people.
#pragma once

#include "pg.hpp"

namespace gatepost {

// The address of the client. Result: false on a unix socket.
bool client_address(Datum *address);

// "application@address/pid".
text *client_label(const char *application, Datum address, bool has_address, int pid);

} // namespace gatepost
