// Server errors and C++ exceptions, raised over counted objects and through the guards.
#include "callout.hpp"
#include "edge.hpp"

#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

extern "C" {
PG_MODULE_MAGIC;
}

namespace {

int live;

// Owns memory, so that a jump over it is a leak as well as a wrong count.
struct Counted {
  std::string ballast = std::string(1000, 'x');
  Counted() { live++; }
  ~Counted() { live--; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
};

[[noreturn]] void server_error() {
  ereport(ERROR, (errcode(ERRCODE_DIVISION_BY_ZERO), errmsg("a server error"), errdetail("its detail"),
                  errhint("its hint")));
}

// Several frames deep, each with something to destroy.
void call_server(int depth) {
  const Counted counted;
  if (depth > 0)
    call_server(depth - 1);
  else
    gatepost::call_out([] { server_error(); });
}

void throw_exception(const std::string &what) {
  const auto counted = std::make_unique<Counted>();
  if (what == "bad_alloc")
    throw std::bad_alloc();
  if (what == "invalid_argument")
    throw std::invalid_argument("an invalid argument");
  if (what == "out_of_range")
    throw std::out_of_range("out of range");
  if (what == "runtime_error")
    throw std::runtime_error("a runtime error");
  throw 42;
}

} // namespace

GATEPOST_FUNCTION(guards_server_error) {
  const Counted counted;
  call_server(PG_GETARG_INT32(0));
  PG_RETURN_VOID();
}

// A server error that a frame has cleaned up after goes on as it was.
GATEPOST_FUNCTION(guards_rethrown) {
  const Counted counted;
  try {
    call_server(3);
  } catch (const gatepost::ServerError &) {
    const Counted cleaning;
    throw;
  }
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(guards_exception) {
  const char *what = text_to_cstring(PG_GETARG_TEXT_PP(0));
  throw_exception(what);
  PG_RETURN_VOID();
}

GATEPOST_FUNCTION(guards_live) { PG_RETURN_INT32(live); }

// Whether the C++ runtime believes that an exception is still being handled.
GATEPOST_FUNCTION(guards_handling) { PG_RETURN_BOOL(std::current_exception() != nullptr); }
