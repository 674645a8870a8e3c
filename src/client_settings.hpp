// Settings that came with the connection, before this library was there to say who may set them.
#pragma once

namespace gatepost {

// To be called before any setting is defined. Raises 42501 when a role without the right to it has brought a value for
// an administrator's setting: the server would drop that value, and with it what the configuration says, so that the
// setting would be back at its default.
void refuse_client_settings();

} // namespace gatepost
