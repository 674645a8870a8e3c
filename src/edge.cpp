#include "edge.hpp"

#include "callout.hpp"
#include "mutant.hpp"

#include <exception>
#include <new>
#include <stdexcept>

namespace gatepost {
namespace {

// What is carried over the catch arms: nothing with a destructor.
struct Caught {
  int sqlstate;
  ErrorData *report;
  char message[512];
};

void note(Caught &caught, int sqlstate, const char *message) {
  caught.sqlstate = sqlstate;
  strlcpy(caught.message, message, sizeof caught.message);
}

} // namespace

Datum run_at_edge(Body body, FunctionCallInfo fcinfo) {
  Caught caught{};
  try {
    return body(fcinfo);
  } catch (const ServerError &error) {
    caught.report = error.report;
  } catch (const std::bad_alloc &) {
    note(caught, ERRCODE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::invalid_argument &error) {
    note(caught, ERRCODE_INVALID_PARAMETER_VALUE, error.what());
  } catch (const std::out_of_range &error) {
    note(caught, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.what());
  } catch (const std::exception &error) {
    if (mutant("raised_inside_catch"))
      ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("%s", error.what())));
    note(caught, ERRCODE_INTERNAL_ERROR, error.what());
  } catch (...) {
    note(caught, ERRCODE_INTERNAL_ERROR, "unknown C++ exception");
  }
  if (caught.report != nullptr)
    ReThrowError(caught.report);
  ereport(ERROR, (errcode(caught.sqlstate), errmsg("%s", caught.message)));
}

} // namespace gatepost
