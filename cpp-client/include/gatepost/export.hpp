// What the shared library lets be seen. All else is hidden.
#pragma once

// Every header begins with this one. What cannot be included ends the compilation, so that nothing hides the message.
#if __cplusplus < 202002L
#error "gatepost needs C++20: compile with -std=c++20"
#include <gatepost needs -std=c++20>
#endif

#define GATEPOST_API [[gnu::visibility("default")]]
