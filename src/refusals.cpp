#include "refusals.hpp"

#include "hash.hpp"
#include "history.hpp"
#include "ledger_layout.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "premade.hpp"
#include "quoted.hpp"
#include "relations.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

bool log_refusals = true;

struct ReasonEntry {
  RefusalReason reason;
  const char *name;
  int sqlstate;
};

constexpr ReasonEntry reasons[] = {
    {RefusalReason::stale_token, "stale_token", MAKE_SQLSTATE('L', 'G', '0', '0', '1')},
    {RefusalReason::lease_not_held, "lease_not_held", MAKE_SQLSTATE('L', 'G', '0', '0', '2')},
    {RefusalReason::token_required, "token_required", MAKE_SQLSTATE('L', 'G', '0', '0', '3')},
    {RefusalReason::unknown_token, "unknown_token", MAKE_SQLSTATE('L', 'G', '0', '0', '4')},
    {RefusalReason::token_of_other_lease, "token_of_other_lease", MAKE_SQLSTATE('L', 'G', '0', '0', '5')},
};

const ReasonEntry *entry_of(char reason) {
  for (const ReasonEntry &entry : reasons)
    if (static_cast<char>(entry.reason) == reason)
      return &entry;
  return nullptr;
}

void append_token(StringInfo line, const char *field, int64 token) {
  if (token == 0)
    appendStringInfo(line, ", %s none", field);
  else
    appendStringInfo(line, ", %s %lld", field, static_cast<long long>(token));
}

void append_table(StringInfo line, Oid relation) {
  const char *name = OidIsValid(relation) ? get_rel_name(relation) : nullptr;
  if (name == nullptr)
    appendStringInfoString(line, "none");
  else
    append_quoted(line, quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), name));
}

// One line, its fields always the same and in this order.
void log_refusal(const Refusal &refusal) {
  const ReasonEntry *entry = entry_of(static_cast<char>(refusal.reason));
  const char *role = GetUserNameFromId(GetUserId(), true);
  StringInfoData line;
  initStringInfo(&line);
  appendStringInfoString(&line, "write refused: table ");
  append_table(&line, refusal.relation);
  appendStringInfoString(&line, ", name ");
  if (refusal.name == nullptr)
    appendStringInfoString(&line, "none");
  else
    append_quoted(&line, refusal.name->bytes());
  append_token(&line, "token", refusal.token);
  append_token(&line, "current", refusal.current);
  appendStringInfo(&line, ", reason %s, role ", entry->name);
  append_quoted(&line, role != nullptr ? role : "");
  appendStringInfo(&line, ", pid %d, application ", MyProcPid);
  append_quoted(&line, application_name != nullptr ? application_name : "");
  // The client gets the error itself.
  ereport(LOG_SERVER_ONLY,
          (errcode(entry->sqlstate), errmsg_internal("%s", line.data), errhidestmt(true), errhidecontext(true)));
}

// What the session has seen refused and not yet counted. The last one takes what finds no room.
constexpr int pending_room = 16;
CounterData pending[pending_room + 1];
int pending_count;

bool same_counter(const CounterData &a, const CounterData &b) {
  return a.reason == b.reason && a.relation == b.relation && a.key == b.key;
}

void add_to(CounterData *sum, const CounterData &more) {
  sum->count += more.count;
  sum->last_at = Max(sum->last_at, more.last_at);
}

void note_pending(const CounterData &fresh) {
  for (int i = 0; i < pending_count; i++)
    if (same_counter(pending[i], fresh))
      return add_to(&pending[i], fresh);
  if (pending_count < pending_room) {
    pending[pending_count++] = fresh;
    return;
  }
  CounterData &rest = pending[pending_room];
  if (pending_count == pending_room) {
    rest = {0, 0, DT_NOBEGIN, InvalidOid, counter::others, {}};
    pending_count++;
  }
  add_to(&rest, fresh);
}

// The row that counts such refusals, made one if need be. The whole table is looked through before a free row is taken,
// so that no counter has two rows.
bool add_to_counter(Relation rel, const CounterData &more) {
  CounterData sum{};
  ItemPointerData place, free_place, others_place;
  CounterData others{};
  ItemPointerSetInvalid(&place);
  ItemPointerSetInvalid(&free_place);
  ItemPointerSetInvalid(&others_place);
  each_premade<CounterData>(rel, [&](const CounterData &row, ItemPointer at) {
    if (row.reason == counter::others) {
      others = row;
      others_place = *at;
    } else if (row.reason == counter::free && !ItemPointerIsValid(&free_place)) {
      free_place = *at;
    }
    if (same_counter(row, more)) {
      sum = row;
      place = *at;
    }
    return !ItemPointerIsValid(&place);
  });
  if (!ItemPointerIsValid(&place) && ItemPointerIsValid(&free_place)) {
    sum = more;
    sum.count = 0;
    place = free_place;
  } else if (!ItemPointerIsValid(&place) && !mutant("overflow_uncounted")) {
    sum = others;
    place = others_place;
  }
  add_to(&sum, more);
  return ItemPointerIsValid(&place) && overwrite_premade(rel, place, sum);
}

void count_pending() {
  // Tried at once, since queued DDL may take long.
  Relation rel = try_open_ledger(Ledger::refusal_counters, RowExclusiveLock, 0);
  if (rel == nullptr)
    return;
  // A rollback would take the count away with the file.
  if (pg::rewritten_here(rel) && !mutant("rewritten_counters_counted"))
    return;
  for (int i = pending_count; --i >= 0;)
    if (add_to_counter(rel, pending[i]))
      pending[i] = pending[--pending_count];
}

constexpr int64 mutex_patience_us = 20 * 1000;

// Nothing of a transaction without an xid would bring its log to disk soon.
void ask_for_flush() {
  if (!mutant("refusals_unflushed"))
    XLogSetAsyncXactLSN(XactLastRecEnd);
}

struct Work {
  const Refusal *refusal; // nullptr: only what is pending
};

void do_work(const Work &work) {
  CounterData fresh{1, 0, GetCurrentTimestamp(), InvalidOid, 0, {}};
  if (const Refusal *refusal = work.refusal) {
    fresh.relation = refusal->relation;
    fresh.reason = static_cast<char>(refusal->reason);
    if (refusal->name != nullptr) {
      const auto bytes = refusal->name->bytes();
      fresh.key = key_of(*refusal->name);
      fresh.name = cut_name(bytes.data(), bytes.size());
    }
    note_pending(fresh);
    if (log_refusals && !mutant("refusals_unlogged"))
      log_refusal(*refusal);
  }
  if (mutant("refusals_queue")) {
    mutex_lock(LockClass::refusals, 0);
  } else if (!mutex_try(LockClass::refusals, 0, mutex_patience_us)) {
    if (mutant("pending_lost"))
      pending_count = 0;
    return;
  }
  at(Point::refusal_mutexed);
  count_pending();
  if (work.refusal != nullptr)
    record_refusal(*work.refusal, fresh.name);
  ask_for_flush();
}

// A subtransaction takes back whatever is left behind, locks and memory too; rows overwritten in place stay. Interrupts
// wait, so that the caller's error is the refusal.
void work_safely(const Work &work) {
  const MemoryContext context = CurrentMemoryContext;
  const ResourceOwner owner = CurrentResourceOwner;
  const uint32 interrupts_held = InterruptHoldoffCount;
  ErrorData *volatile report = nullptr;
  pg::hold_interrupts();
  BeginInternalSubTransaction(nullptr);
  PG_TRY();
  { do_work(work); }
  PG_CATCH();
  {
    MemoryContextSwitchTo(context);
    report = CopyErrorData();
    FlushErrorState();
  }
  PG_END_TRY();
  RollbackAndReleaseCurrentSubTransaction();
  MemoryContextSwitchTo(context);
  CurrentResourceOwner = owner;
  InterruptHoldoffCount = interrupts_held;
  if (report == nullptr)
    return;
  if (mutant("counting_raises"))
    ReThrowError(report);
  StringInfoData line;
  initStringInfo(&line);
  append_quoted(&line, report->message != nullptr ? report->message : "");
  ereport(LOG_SERVER_ONLY, (errcode(report->sqlerrcode), errmsg_internal("write refusal not counted: %s", line.data),
                            errhidestmt(true), errhidecontext(true)));
}

bool impossible() { return RecoveryInProgress() || IsInParallelMode(); }

} // namespace

void count_refusal(const Refusal &refusal) {
  if (!impossible())
    work_safely({&refusal});
}

void count_pending_refusals() {
  if (pending_count > 0 && !impossible())
    work_safely({nullptr});
}

int64 reset_refusals() {
  Relation rel = open_ledger(Ledger::refusal_counters, RowExclusiveLock);
  mutex_lock(LockClass::refusals, 0);
  pending_count = 0;
  int64 cleared = 0;
  each_premade<CounterData>(rel, [&](const CounterData &row, ItemPointer place) {
    if (row.count == 0)
      return true;
    const char reason = row.reason == counter::others ? counter::others : counter::free;
    if (!overwrite_premade<CounterData>(rel, *place, {0, 0, DT_NOBEGIN, InvalidOid, reason, {}}))
      ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                      errmsg("a row of relation gatepost.refusal_counters is locked by another session")));
    cleared++;
    return true;
  });
  mutex_unlock(LockClass::refusals, 0);
  table_close(rel, RowExclusiveLock);
  if (cleared > 0)
    ask_for_flush();
  return cleared;
}

const char *refusal_reason_name(char reason) {
  const ReasonEntry *entry = entry_of(reason);
  return entry != nullptr ? entry->name : reason == counter::others ? "others" : "unknown";
}

void register_refusals() {
  DefineCustomBoolVariable("gatepost.log_refusals", "Writes a line to the server's log for each refused write.",
                           nullptr, &log_refusals, true, PGC_SUSET, 0, nullptr, nullptr, nullptr);
}

} // namespace gatepost
