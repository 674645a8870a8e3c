#include "rungs.hpp"

#include "locks.hpp"
#include "mutant.hpp"

namespace gatepost {
namespace {

// Session locks, by key and mode.
struct SessionKey {
  uint64 key;
  uint64 shared; // as wide as the key: the hash looks at every byte
};

struct SessionRung {
  SessionKey id;
  int64 count;
  char *name;
  int name_size;
};

HTAB *session_rungs;

// Transaction locks in the order they were taken.
struct TransactionRung {
  uint64 key;
  bool shared;
  SubTransactionId subtransaction;
  int64 count;
  char *name;
  int name_size;
};

TransactionRung *transaction_rungs;
int transaction_count;
int transaction_room;

char *copy_name(MemoryContext context, LeaseName name) {
  const auto bytes = name.bytes();
  char *copy = static_cast<char *>(MemoryContextAlloc(context, bytes.size()));
  memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

void reserve_session(uint64 key, LeaseName name, bool shared) {
  if (session_rungs == nullptr) {
    HASHCTL control{};
    control.keysize = sizeof(SessionKey);
    control.entrysize = sizeof(SessionRung);
    control.hcxt = TopMemoryContext;
    session_rungs = hash_create("gatepost session rungs", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  }
  const SessionKey id{key, shared};
  bool found;
  auto *rung = static_cast<SessionRung *>(hash_search(session_rungs, &id, HASH_FIND, &found));
  if (found)
    return;
  char *copy = copy_name(TopMemoryContext, name);
  rung = static_cast<SessionRung *>(hash_search(session_rungs, &id, HASH_ENTER, &found));
  rung->count = 0;
  rung->name = copy;
  rung->name_size = static_cast<int>(name.bytes().size());
}

void drop_session(SessionRung *rung) {
  pfree(rung->name);
  hash_search(session_rungs, &rung->id, HASH_REMOVE, nullptr);
}

SessionRung *session_rung(uint64 key, bool shared) {
  if (session_rungs == nullptr)
    return nullptr;
  const SessionKey id{key, shared};
  return static_cast<SessionRung *>(hash_search(session_rungs, &id, HASH_FIND, nullptr));
}

void reserve_transaction(uint64 key, LeaseName name, bool shared) {
  if (transaction_count == transaction_room) {
    const int room = transaction_room == 0 ? 16 : transaction_room * 2;
    auto *bigger =
        static_cast<TransactionRung *>(MemoryContextAllocHuge(TopTransactionContext, sizeof(TransactionRung) * room));
    if (transaction_count > 0)
      memcpy(bigger, transaction_rungs, sizeof(TransactionRung) * transaction_count);
    transaction_rungs = bigger;
    transaction_room = room;
  }
  // One past the end: note_transaction counts it in.
  transaction_rungs[transaction_count] = {key,
                                          shared,
                                          GetCurrentSubTransactionId(),
                                          1,
                                          copy_name(TopTransactionContext, name),
                                          static_cast<int>(name.bytes().size())};
}

void forget_transaction_rungs() {
  transaction_rungs = nullptr;
  transaction_count = 0;
  transaction_room = 0;
}

void on_transaction(XactEvent event, void *) {
  if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
    forget_transaction_rungs();
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *) {
  if (transaction_count == 0 || (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB))
    return;
  int kept = 0;
  for (int i = 0; i < transaction_count; i++) {
    TransactionRung &rung = transaction_rungs[i];
    if (rung.subtransaction == mine && event == SUBXACT_EVENT_ABORT_SUB)
      continue;
    if (rung.subtransaction == mine && event == SUBXACT_EVENT_COMMIT_SUB && !mutant("kept_rungs_left_behind"))
      rung.subtransaction = parent;
    transaction_rungs[kept++] = rung;
  }
  transaction_count = kept;
}

// Whether this transaction has the lock, in which case the lock manager's answer is not about the session.
bool in_transaction(uint64 key, bool shared) {
  for (int i = 0; i < transaction_count; i++)
    if (transaction_rungs[i].key == key && transaction_rungs[i].shared == shared)
      return true;
  return false;
}

// Whether the session still has what was noted: pg_advisory_unlock_all and DISCARD ALL tell nobody.
bool still_held(uint64 key, bool shared) {
  if (mutant("gone_locks_believed"))
    return true;
  const HolderMode mode = shared ? HolderMode::shared : HolderMode::exclusive;
  return in_transaction(key, shared) ? holder_held_by_session(key, mode) : holder_held(key, mode);
}

} // namespace

void reserve_rung(uint64 key, LeaseName name, bool shared, RungScope scope) {
  if (scope == RungScope::session)
    reserve_session(key, name, shared);
  else
    reserve_transaction(key, name, shared);
}

void unreserve_rung(uint64 key, bool shared, RungScope scope) {
  SessionRung *rung = scope == RungScope::session ? session_rung(key, shared) : nullptr;
  if (rung != nullptr && rung->count == 0)
    drop_session(rung);
}

void note_rung(uint64 key, bool shared, RungScope scope) {
  if (scope == RungScope::session) {
    session_rung(key, shared)->count++;
    return;
  }
  // A name locked again and again stays one entry.
  if (transaction_count > 0) {
    TransactionRung &last = transaction_rungs[transaction_count - 1];
    if (last.key == key && last.shared == shared && last.subtransaction == GetCurrentSubTransactionId()) {
      last.count++;
      return;
    }
  }
  transaction_count++;
}

void note_kept_rung() {
  transaction_rungs[transaction_count].subtransaction = TopSubTransactionId;
  transaction_count++;
}

bool forget_session_rung(uint64 key, bool shared) {
  SessionRung *rung = session_rung(key, shared);
  if (rung == nullptr)
    return false;
  const bool held = rung->count > 0 && still_held(key, shared);
  if (--rung->count <= 0 || !held)
    drop_session(rung);
  return held;
}

bool holds_session_rung(uint64 key) {
  for (const bool shared : {false, true}) {
    SessionRung *rung = session_rung(key, shared);
    if (rung == nullptr || rung->count == 0)
      continue;
    if (still_held(key, shared))
      return true;
    drop_session(rung);
  }
  return false;
}

bool any_session_rung() { return session_rungs != nullptr && hash_get_num_entries(session_rungs) > 0; }

bool holds_transaction_rungs() { return transaction_count > 0; }

bool holds_session_rungs() {
  ListCell *cell;
  foreach (cell, known_rungs())
    if (static_cast<Rung *>(lfirst(cell))->scope == RungScope::session)
      return true;
  return false;
}

List *known_rungs() {
  List *rungs = NIL;
  for (int i = 0; i < transaction_count; i++) {
    const TransactionRung &rung = transaction_rungs[i];
    Rung *known = static_cast<Rung *>(palloc(sizeof(Rung)));
    *known = {rung.key, rung.shared, RungScope::transaction, rung.count, rung.name, rung.name_size};
    rungs = lappend(rungs, known);
  }
  if (session_rungs == nullptr)
    return rungs;
  HASH_SEQ_STATUS status;
  hash_seq_init(&status, session_rungs);
  while (auto *rung = static_cast<SessionRung *>(hash_seq_search(&status))) {
    if (rung->count == 0 || !still_held(rung->id.key, rung->id.shared != 0))
      continue;
    Rung *known = static_cast<Rung *>(palloc(sizeof(Rung)));
    *known = {rung->id.key, rung->id.shared != 0, RungScope::session, rung->count, rung->name, rung->name_size};
    rungs = lappend(rungs, known);
  }
  return rungs;
}

void register_rung_callbacks() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
