#include "testpoint.hpp"

#ifdef GATEPOST_TEST
#include "pg.hpp"

#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gatepost {
namespace {

constexpr uint32 controller_key = 18256;

constexpr const char *names[] = {
    nullptr,           "acquire_looked",   "acquire_mutexed",  "acquire_tagged",  "acquire_written", "renew_mutexed",
    "release_mutexed", "raise_locked",     "raise_set",        "token_drawn",     "look_started",    "rung_taken",
    "use_looked",      "wait_ended",       "use_looked_first", "refusal_mutexed", "waking",          "queue_left",
    "wait_looked",     "tag_waited",       "all_took_one",     "purge_walked",    "purge_tagged",    "queue_joined",
    "transfer_tagged", "transfer_written", "rung_refused",     "protected_listed"};

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

// How often a process was woken by others is the size of a file, which no test empties.
struct WakesFile {
  char path[64];
  explicit WakesFile(int64 pid) {
    snprintf(path, sizeof path, "gatepost_test_wakes.%lld", static_cast<long long>(pid));
  }
};

void count_wake(int64 pid) {
  const int file = open(WakesFile(pid).path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  [[maybe_unused]] const ssize_t written = write(file, "w", 1);
  close(file);
}

} // namespace

int test_timer_ms;
int test_bound_ms;

bool woken() {
  static off_t seen = 0;
  if (access("gatepost_test_trace", F_OK) != 0)
    return true;
  struct stat wakes = {};
  if (stat(WakesFile(MyProcPid).path, &wakes) != 0 || wakes.st_size == seen)
    return false;
  seen = wakes.st_size;
  return true;
}

void at(Point point) {
  const int number = static_cast<int>(point);
  if (listed(fault_list, names[number]))
    ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("fault at %s", names[number])));
  if (!listed(pause_list, names[number]) || point == Point::waking)
    return;
  trace("stops", number);
  // Class 2 is core's two-integer advisory lock: the controller calls pg_advisory_lock(18256, number).
  LOCKTAG tag;
  SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, controller_key, static_cast<uint32>(number), 2);
  if (point == Point::wait_looked) {
    while (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
      pg_usleep(1000);
    LockRelease(&tag, ShareLock, false);
    return;
  }
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

void trace(const char *event, int64_t number) {
  const int file = open("gatepost_test_trace", O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0)
    return;
  if (std::string_view(event) == "wakes")
    count_wake(number);
  char line[128];
  const int length = snprintf(line, sizeof line, "%d %s %lld\n", MyProcPid, event, static_cast<long long>(number));
  // One write, so that lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = write(file, line, length);
  close(file);
}

void define_test_settings() {
  DefineCustomStringVariable("gatepost.test_pause", "Points at which calls stop, test build only.", nullptr,
                             &pause_list, "", PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomStringVariable("gatepost.test_fault", "Points at which calls fail, test build only.", nullptr,
                             &fault_list, "", PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("gatepost.test_timer", "The coarse timer of waiters, test build only.", nullptr,
                          &test_timer_ms, 3600 * 1000, 1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
  DefineCustomIntVariable("gatepost.test_bound", "The bound of waits inside calls, test build only.", nullptr,
                          &test_bound_ms, 45 * 1000, 1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

} // namespace gatepost
#endif
