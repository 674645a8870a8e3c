#include "identity.hpp"

#include "clock.hpp"
#include "hash.hpp"
#include "locks.hpp"
#include "mutant.hpp"
#include "relations.hpp"
#include "slot_layout.hpp"
#include "testpoint.hpp"
#include "token.hpp"
#include "token_layout.hpp"

#include <sys/stat.h>

namespace gatepost {
namespace {

IdentityData current_identity() {
  return {static_cast<int64>(GetSystemIdentifier()),
          static_cast<int64>(GetWALInsertionTimeLine()),
          static_cast<int64>(MyDatabaseId),
          boot_fingerprint(),
          0,
          0};
}

bool same_history(const IdentityData &a, const IdentityData &b) {
  if (mutant("timeline_ignored"))
    return a.system == b.system && a.database == b.database;
  return a.system == b.system && a.timeline == b.timeline && a.database == b.database;
}

bool same_identity(const IdentityData &a, const IdentityData &b) { return same_history(a, b) && a.boot == b.boot; }

// When the stored identity was found current here. A backend's own cannot change after that: nothing is verified before
// a promotion has ended, and the timeline stays from then on. Tests change the boot.
struct Verified {
  int64 boot;
  uint64 epoch;
} verified;

bool verified_is_current() { return verified.epoch == relations_epoch() && verified.boot == boot_fingerprint(); }

void note_verified() { verified = {boot_fingerprint(), relations_epoch()}; }

// Reads the one row, newest state.
IdentityData read_identity(Relation rel) {
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, &dirty, 0, nullptr);
  const HeapTuple tuple = systable_getnext(scan);
  if (!HeapTupleIsValid(tuple))
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("relation gatepost.identity has no row")));
  const IdentityData identity = *identity_data(tuple);
  systable_endscan(scan);
  return identity;
}

void end_scan(void *scan) { systable_endscan(static_cast<SysScanDesc>(scan)); }

// Overwrites the row in place: a raise must not vanish with the transaction that noticed, nor wait for another one.
void write_identity(Relation rel, const IdentityData &identity) {
  for (;;) {
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, &dirty, 0, nullptr);
    const HeapTuple tuple = systable_getnext(scan);
    if (!HeapTupleIsValid(tuple))
      ereport(ERROR,
              (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("relation gatepost.identity has no row")));
    auto *slot = reinterpret_cast<BufferHeapTupleTableSlot *>(scan->slot);
    if (!heap_inplace_lock(rel, slot->base.tuple, slot->buffer, end_scan, scan))
      continue;
    HeapTuple fresh = heap_copytuple(tuple);
    *identity_data(fresh) = identity;
    heap_inplace_update_and_unlock(rel, slot->base.tuple, fresh, slot->buffer);
    systable_endscan(scan);
    heap_freetuple(fresh);
    return;
  }
}

// The highest token that a dump has left in floor: loaded with triggers disabled it raised nothing. 0: none.
int64 loaded_floor() {
  if (mutant("floor_unread"))
    return 0;
  int64 highest = 0;
  Relation rel = open_floor();
  SnapshotData dirty;
  InitDirtySnapshot(dirty);
  SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, &dirty, 0, nullptr);
  for (HeapTuple tuple = systable_getnext(scan); HeapTupleIsValid(tuple); tuple = systable_getnext(scan)) {
    bool isnull;
    const int64 token = DatumGetInt64(heap_getattr(tuple, 1, RelationGetDescr(rel), &isnull));
    if (!isnull && generation_of(token) <= max_raised_generation)
      highest = Max(highest, token);
  }
  systable_endscan(scan);
  close_floor(rel);
  return highest;
}

// The wall clock is a floor, and not believed when it is a year ahead of everything else: one bad clock would spend
// the generations of sixty years.
int64 believed_wallclock(int64 stored_generation) {
  constexpr int64 year_us = int64{365} * 24 * hour_us;
  const int64 wall = wallclock_us();
  struct stat file;
  int64 newest = first_hour_us + stored_generation * hour_us;
  // The server rewrites it at each checkpoint.
  if (stat("global/pg_control", &file) == 0)
    newest = Max(newest, static_cast<int64>(file.st_mtime) * USECS_PER_SEC);
  return wall - newest > year_us && !mutant("wall_clock_believed") ? newest : wall;
}

// The same for one server as long as it is up, so that DROP and CREATE EXTENSION within an hour look like no split of
// its history; of two servers that were promoted apart it differs 31 times in 32.
int64 nonce_of(const IdentityData &server) {
  if (mutant("one_nonce_for_all"))
    return 0;
  struct stat file {};
  if (!mutant("nonce_without_file"))
    (void)stat("global/pg_control", &file);
  const int64 what[] = {server.system, server.database, server.boot, static_cast<int64>(file.st_dev),
                        static_cast<int64>(file.st_ino)};
  return hash64({reinterpret_cast<const char *>(what), sizeof what}) & (token_step - 1);
}

// The first token of the next generation, and so the value to set the sequence to.
int64 next_first_token(const IdentityData &stored, const IdentityData &current, int64 above) {
  const int64 last = last_token();
  int64 steps = 1;
  // Timelines that went by elsewhere may have raised it elsewhere, once each.
  if (stored.system == current.system && !mutant("timelines_uncounted"))
    steps = Max(steps, current.timeline - stored.timeline);
  const int64 wall = believed_wallclock(generation_of(last));
  const int64 hours = mutant("generation_from_nothing") ? 0 : hours_of(wall);
  int64 generation = Max(generation_of(Max(last, above)) + steps, hours);
  if (generation > max_generation)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("generation %lld is out of range, the highest is %lld", static_cast<long long>(generation),
                           static_cast<long long>(max_generation))));
  // DROP and CREATE EXTENSION within the hour forget the generation; the counter then keeps tokens rising.
  const int64 counter = generation == hours && !mutant("counter_without_floor") ? counter_within_hour(wall) : 0;
  return token_of(generation, counter, nonce_of(current));
}

Oid sequence_owner(Oid sequence) {
  Relation rel = relation_open(sequence, NoLock);
  const Oid owner = rel->rd_rel->relowner;
  relation_close(rel, NoLock);
  return owner;
}

void set_sequence(Oid sequence, int64 value) {
  DirectFunctionCall3(setval3_oid, ObjectIdGetDatum(sequence), Int64GetDatum(value), BoolGetDatum(true));
  XLogFlush(XactLastRecEnd);
}

// Under a mutex of its own: re-check, set the sequence, flush, write the identity, flush. A crash in between raises
// once more, harmlessly.
int64 raise(bool always, int64 above) {
  const Oid sequence = lock_sequence();
  Relation rel = open_identity(RowExclusiveLock);
  mutex_lock(LockClass::generation, 0);
  at(Point::raise_locked);

  const IdentityData stored = read_identity(rel);
  IdentityData current = current_identity();
  if (always || !same_identity(stored, current)) {
    // setval asks for rights that the caller does not have. An error restores the role with the transaction.
    Oid role;
    int context;
    GetUserIdAndSecContext(&role, &context);
    SetUserIdAndSecContext(sequence_owner(sequence), context | SECURITY_LOCAL_USERID_CHANGE);
    const int64 first = next_first_token(stored, current, above);
    set_sequence(sequence, first);
    if (!mutant("tokens_counted_from_zero"))
      current.first = first;
    at(Point::raise_set);
    SetUserIdAndSecContext(role, context);

    // Rows of other boots count their ttl from now: the data may have come to a machine that has been up for long. A
    // raise without a change of identity leaves the moment as it was.
    current.since = same_identity(stored, current) && !mutant("raises_shut_names") ? stored.since : boottime_us();
    if (!mutant("identity_unwritten"))
      write_identity(rel, current);
    XLogFlush(XactLastRecEnd);
  }
  note_verified();
  const int64 generation = generation_of(last_token());

  mutex_unlock(LockClass::generation, 0);
  unlock_sequence(sequence);
  close_identity(rel, RowExclusiveLock);
  return generation;
}

} // namespace

void ensure_identity() {
  if (verified_is_current())
    return;
  Relation rel = open_identity(AccessShareLock);
  const IdentityData stored = read_identity(rel);
  close_identity(rel, AccessShareLock);
  const int64 floor = loaded_floor();
  if (floor > last_token())
    raise(true, floor);
  else if (same_identity(stored, current_identity()))
    note_verified();
  else
    raise(false, 0);
}

int64 raise_generation(int64 above) { return raise(true, above); }

Recovery recovery() {
  Relation rel = open_identity(AccessShareLock);
  const IdentityData stored = read_identity(rel);
  close_identity(rel, AccessShareLock);
  if (mutant("recovery_from_boot"))
    return {true, 0};
  if (RecoveryInProgress() || !same_identity(stored, current_identity()))
    return {false, 0};
  return {true, stored.since};
}

} // namespace gatepost
