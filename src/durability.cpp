#include "durability.hpp"

#include "errors.hpp"
#include "mutant.hpp"
#include "uses.hpp"

#include <initializer_list>

namespace gatepost {
namespace {

enum Level { level_local, level_standby };

constexpr config_enum_entry levels[] = {
    {"local", level_local, false}, {"standby", level_standby, false}, {nullptr, 0, false}};

int asked = level_local;
int least = level_local;

// At which nesting levels of the transaction something was done: a subtransaction hands it to its parent or takes it
// along when it rolls back. One bit a level; what is deeper than the last one stays.
class Levels {
public:
  void note() { bits |= bit(); }
  void commit_sub() {
    if ((bits & bit()) != 0 && level() < deepest && !mutant("kept_savepoints_forgotten"))
      bits = (bits & ~bit()) | bit() >> 1;
  }
  void abort_sub() {
    if (level() < deepest)
      bits &= ~bit();
  }
  explicit operator bool() const { return bits != 0; }

private:
  static constexpr int deepest = 63;
  static int level() { return Min(GetCurrentTransactionNestLevel(), deepest); }
  static uint64 bit() { return uint64{1} << level(); }
  uint64 bits;
};

// What the transaction has done so far; plain data, since commit callbacks must not fail.
struct Done {
  Levels changed;
  Levels durable;
  Levels purged;
  Levels rungs;
  Levels places;
  Levels marks;
  bool awaited; // its commit waits for a standby
  bool only_releases;
  XLogRecPtr release_end; // where the last release's log ended
} done;

void set_for_this_commit(const char *value) {
  set_config_option("synchronous_commit", value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, ERROR, false);
}

// As many synchronous standbys are connected as the configuration makes a commit wait for.
bool standby_connected() {
  if (SyncRepConfig == nullptr)
    return false;
  SyncRepStandbyData *standbys;
  return SyncRepGetCandidateStandbys(&standbys) >= SyncRepConfig->num_sync;
}

void before_commit() {
  if (done.durable) {
    if (mutant("grants_unflushed"))
      return;
    // Flushes whatever synchronous_commit says; it matters that the transaction has an xid, and it wrote a row.
    ForceSyncCommit();
    if (!standby_asked() || mutant("standby_not_awaited"))
      return;
    if (!standby_connected())
      ereport(ERROR, (errcode(durability_unavailable),
                      errmsg("durability \"standby\" is not available: no synchronous standby is connected"),
                      errdetail("The transaction has granted or renewed a lease or advanced a mark, and "
                                "gatepost.durability or gatepost.durability_floor asks for a standby.")));
    if (synchronous_commit < SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
      set_for_this_commit("on");
    done.awaited = true;
    return;
  }
  // Inside a block other extensions may log work of their own after this comparison.
  if (done.only_releases && !IsTransactionBlock() && XactLastRecEnd == done.release_end &&
      synchronous_commit > SYNCHRONOUS_COMMIT_OFF && !mutant("releases_flushed"))
    set_for_this_commit("off");
}

// The configuration can lose its synchronous standbys between the look above and the wait, or during the wait; the
// server then lets the commit go without a word. Runs after the wait; nothing here may fail.
void warn_unless_on_standby() {
  LWLockAcquire(SyncRepLock, LW_SHARED);
  const XLogRecPtr confirmed = WalSndCtl->lsn[SYNC_REP_WAIT_FLUSH];
  LWLockRelease(SyncRepLock);
  if (confirmed < XactLastCommitEnd && !mutant("unawaited_unsaid"))
    ereport(WARNING, (errmsg("the commit is on this server's disk, but no synchronous standby is known to have it"),
                      errdetail("The commit did not wait for a standby, or its wait was ended.")));
}

void on_subtransaction(SubXactEvent event, SubTransactionId, SubTransactionId, void *) {
  for (Levels *levels : {&done.changed, &done.durable, &done.purged, &done.rungs, &done.places, &done.marks}) {
    if (event == SUBXACT_EVENT_COMMIT_SUB)
      levels->commit_sub();
    else if (event == SUBXACT_EVENT_ABORT_SUB && !mutant("savepoints_ignored"))
      levels->abort_sub();
  }
}

void on_transaction(XactEvent event, void *) {
  switch (event) {
  case XACT_EVENT_PRE_COMMIT:
    if (done.changed)
      before_commit();
    break;
  case XACT_EVENT_PRE_PREPARE:
    if (done.marks && !mutant("prepare_allowed"))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot PREPARE a transaction that has advanced a mark")));
    if (done.places && !mutant("prepare_allowed"))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot PREPARE a transaction that has changed the queue of a lease")));
    if (uses_any_token() && !mutant("prepare_allowed"))
      ereport(ERROR,
              (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot PREPARE a transaction that uses a token")));
    if ((done.changed || done.rungs) && !mutant("prepare_allowed"))
      ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                      errmsg("cannot PREPARE a transaction that has changed a lease or taken a named lock")));
    break;
  case XACT_EVENT_COMMIT:
    if (done.awaited)
      warn_unless_on_standby();
    done = {};
    break;
  case XACT_EVENT_ABORT:
  case XACT_EVENT_PREPARE:
    done = {};
    break;
  default:
    break;
  }
}

} // namespace

bool standby_asked() { return Max(asked, least) >= level_standby; }

void note_durable_change() {
  done.changed.note();
  done.durable.note();
}

void note_purge() {
  done.changed.note();
  done.purged.note();
  done.only_releases = false;
}

void note_holder_tag() { done.rungs.note(); }

void note_place() { done.places.note(); }

void note_mark_kept() { done.marks.note(); }

bool mark_kept_in_transaction() { return static_cast<bool>(done.marks); }

bool changed_in_transaction() { return static_cast<bool>(done.changed); }

bool purged_in_transaction() { return static_cast<bool>(done.purged); }

void begin_release() {
  const bool alone =
      !done.changed ? XactLastRecEnd == InvalidXLogRecPtr : done.only_releases && XactLastRecEnd == done.release_end;
  done.only_releases = alone;
}

void end_release() {
  done.changed.note();
  done.release_end = XactLastRecEnd;
}

void register_durability() {
  DefineCustomEnumVariable("gatepost.durability", "Where a grant or renewal must be before it is reported.",
                           "\"local\": on this server's disk. \"standby\": on a synchronous standby's too.", &asked,
                           level_local, levels, PGC_USERSET, 0, nullptr, nullptr, nullptr);
  DefineCustomEnumVariable("gatepost.durability_floor", "The least gatepost.durability that counts for anybody.",
                           nullptr, &least, level_local, levels, PGC_SUSET, 0, nullptr, nullptr, nullptr);
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
