// What the command ends with. sysexits.h has the numbers; run ends with its command's status otherwise.
#pragma once

namespace gatepost::cli {

enum Status {
  success = 0,
  no = 1,         ///< the answer is no: nobody holds it, nothing was there
  usage = 64,     ///< unknown options, arguments that are not allowed
  no_server = 69, ///< no connection, or no answer
  internal = 70,  ///< what cannot happen
  busy = 75,      ///< somebody else has the name; try again later
  lost = 76,      ///< the lease is not, or no longer, the token's
  no_rights = 77, ///< the role may not
  set_up = 78,    ///< no extension, or another version of it
  not_runnable = 126,
  not_found = 127,
};

/// For the reference, one line each; ends with a null.
struct StatusText {
  const char *number;
  const char *meaning;
};
inline constexpr StatusText status_texts[] = {
    {"0", "it is so; of run, the command has ended with 0, or its --once key is done already"},
    {"1", "no: nobody holds it, nothing was there; of doctor, a warning"},
    {"2", "of doctor, an error"},
    {"64", "the command line or an argument is not right"},
    {"69", "no connection to the server, or no answer"},
    {"70", "a fault of the program"},
    {"75", "busy: somebody else has the name; or what is asked for is being changed. Try again later"},
    {"76", "the lease is lost, or was never the token's"},
    {"77", "no right to it"},
    {"78", "the extension is missing, or of another version; no such database"},
    {"126, 127", "of run, the command cannot be run, or is not found"},
    {"128+n", "of run, the command was ended by signal n; of all, signal n came while waiting"},
    {nullptr, nullptr},
};

} // namespace gatepost::cli
