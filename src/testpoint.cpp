#include "testpoint.hpp"

#ifdef GATEPOST_TEST
#include "pg.hpp"

#include <string_view>

namespace gatepost {
namespace {

constexpr uint32 controller_key = 18256;

constexpr const char *names[] = {
    nullptr,           "acquire_looked", "acquire_mutexed",  "acquire_tagged",  "acquire_written", "renew_mutexed",
    "release_mutexed", "raise_locked",   "raise_set",        "token_drawn",     "look_started",    "rung_taken",
    "use_looked",      "wait_ended",     "use_looked_first", "refusal_mutexed", "all_took_one"};

char *pause_list;
char *fault_list;

bool listed(const char *list, std::string_view name) {
  std::string_view rest = list != nullptr ? list : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name)
      return true;
    rest = comma == rest.npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

} // namespace

void at(Point point) {
  const int number = static_cast<int>(point);
  if (listed(fault_list, names[number]))
    ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("fault at %s", names[number])));
  if (!listed(pause_list, names[number]))
    return;
  // Class 2 is core's two-integer advisory lock: the controller calls pg_advisory_lock(18256, number).
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, controller_key, static_cast<uint32>(number), 2);
  const int saved = LockTimeout;
  // Who has what he waited for is stopped until his time is over: the server notices that after the grant.
  const bool late = point == Point::wait_ended;
  LockTimeout = late ? 1 : 0;
  if (late)
    HOLD_INTERRUPTS();
  LockAcquire(&tag, ShareLock, false, false);
  if (late)
    RESUME_INTERRUPTS();
  LockTimeout = saved;
  LockRelease(&tag, ShareLock, false);
}

void define_test_settings() {
  DefineCustomStringVariable("gatepost.test_pause", "Points at which calls stop, test build only.", nullptr,
                             &pause_list, "", PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("gatepost.test_fault", "Points at which calls fail, test build only.", nullptr,
                             &fault_list, "", PGC_USERSET, 0, nullptr, nullptr, nullptr);
}

} // namespace gatepost
#endif
