// What the shared library lets be seen. All else is hidden.
#pragma once

#define GATEPOST_API [[gnu::visibility("default")]]
