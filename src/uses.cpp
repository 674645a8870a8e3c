#include "uses.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

struct Use {
  char *name;
  int32 size;
  int32 next; // in its bucket, -1 at the end
  int64 token;
  SubTransactionId began;
  SubTransactionId ended; // by an own grant
  bool asked_for;

  std::string_view bytes() const { return {name, static_cast<size_t>(size)}; }
};

// All in use_context().
Use *uses;
int use_count;
int use_room;
int32 *buckets;
int bucket_count;
uint64 version = 1;
// None began or ended in a later subtransaction that is still open, or has become part of one that is.
SubTransactionId latest_change;

// What ended_alone() knows. Outlives the transaction.
struct {
  int32 size; // 0: nothing
  char name[max_name_bytes];
} alone;

MemoryContext use_context() { return mutant("uses_outlive_transactions") ? TopMemoryContext : TopTransactionContext; }

int32 *bucket_of(std::string_view name) {
  const uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(name.data()), static_cast<int>(name.size()));
  return &buckets[hash & (bucket_count - 1)];
}

void link_all() {
  for (int i = 0; i < bucket_count; i++)
    buckets[i] = -1;
  for (int i = 0; i < use_count; i++) {
    int32 *bucket = bucket_of(uses[i].bytes());
    uses[i].next = *bucket;
    *bucket = i;
  }
}

void make_room() {
  if (use_count < use_room)
    return;
  const int room = Max(use_room * 2, 16);
  auto *bigger = static_cast<Use *>(MemoryContextAllocHuge(use_context(), sizeof(Use) * room));
  auto *wider = static_cast<int32 *>(MemoryContextAllocHuge(use_context(), sizeof(int32) * room));
  if (use_count > 0)
    memcpy(bigger, uses, sizeof(Use) * use_count);
  uses = bigger;
  use_room = room;
  buckets = wider;
  bucket_count = room;
  link_all();
}

// The latest use of the name that has not ended, of any token or (not 0) of that one.
Use *use_of(std::string_view name, int64 token) {
  if (use_count == 0)
    return nullptr;
  for (int32 i = *bucket_of(name); i >= 0; i = uses[i].next)
    if (uses[i].ended == InvalidSubTransactionId && uses[i].bytes() == name && (token == 0 || uses[i].token == token))
      return &uses[i];
  return nullptr;
}

Use *current_use(std::string_view name) { return use_of(name, 0); }

int64 asked_for(Use *use) {
  if (use == nullptr)
    return 0;
  use->asked_for = true;
  return use->token;
}

void forget_all() {
  if (mutant("uses_outlive_transactions"))
    return;
  if (use_count > 0)
    version++;
  uses = nullptr;
  buckets = nullptr;
  use_count = use_room = bucket_count = 0;
  latest_change = InvalidSubTransactionId;
}

void remember_alone(const Use &use) {
  alone.size = use.size;
  memcpy(alone.name, use.name, use.size);
}

// A use counts until its transaction ends: alone in a transaction of its own it has guarded nothing. One line, however
// many they are.
void warn_of_idle_uses() {
  if (IsTransactionBlock() || mutant("idle_uses_unsaid"))
    return;
  const Use *last = nullptr;
  int count = 0;
  for (int i = 0; i < use_count; i++)
    if (!uses[i].asked_for) {
      last = &uses[i];
      count++;
    }
  if (last == nullptr)
    return;
  remember_alone(*last);
  ereport(WARNING, (errmsg("the use of lease \"%.*s\" has ended with a transaction that wrote to no table it protects",
                           pg_mbcliplen(last->name, last->size, 128), last->name),
                    count > 1 ? errdetail_plural("The use of %d other lease has ended so too.",
                                                 "The uses of %d other leases have ended so too.", count - 1, count - 1)
                              : 0,
                    errhint("Begin a transaction, call gatepost.fence_use(), and write, before it commits.")));
}

void on_transaction(XactEvent event, void *) {
  switch (event) {
  case XACT_EVENT_PRE_COMMIT:
    warn_of_idle_uses();
    break;
  case XACT_EVENT_COMMIT:
  case XACT_EVENT_ABORT:
  case XACT_EVENT_PREPARE:
    forget_all();
    break;
  default:
    break;
  }
}

void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *) {
  if (use_count == 0 || (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB))
    return;
  const bool aborted = event == SUBXACT_EVENT_ABORT_SUB;
  if (aborted && mutant("uses_outlive_savepoints"))
    return;
  // Exception blocks in a loop do not look through all uses each time.
  if (latest_change < mine && !mutant("untouched_uses_linked_anew"))
    return;
  latest_change = parent;
  int kept = 0;
  for (int i = 0; i < use_count; i++) {
    Use &use = uses[i];
    if (use.began == mine) {
      if (aborted) {
        if (!mutant("names_of_undone_uses_kept"))
          pfree(use.name);
        continue;
      }
      if (!mutant("kept_uses_left_behind"))
        use.began = parent;
    }
    if (use.ended == mine)
      use.ended = aborted ? InvalidSubTransactionId : parent;
    uses[kept++] = use;
  }
  use_count = kept;
  link_all();
  version++;
}

} // namespace

void note_use(LeaseName name, int64 token) {
  make_room();
  alone.size = 0;
  const auto bytes = name.bytes();
  char *copy = static_cast<char *>(MemoryContextAlloc(use_context(), bytes.size()));
  memcpy(copy, bytes.data(), bytes.size());
  int32 *bucket = bucket_of(bytes);
  uses[use_count] = {copy,  static_cast<int32>(bytes.size()), *bucket,
                     token, GetCurrentSubTransactionId(),     InvalidSubTransactionId,
                     false};
  *bucket = use_count++;
  latest_change = GetCurrentSubTransactionId();
  version++;
}

namespace {

void end(Use *use) {
  use->ended = latest_change = GetCurrentSubTransactionId();
  version++;
}

} // namespace

void end_use(LeaseName name) {
  Use *use = current_use(name.bytes());
  if (use != nullptr && !mutant("own_grant_ends_nothing"))
    end(use);
}

void end_use_of(LeaseName name, int64 token) {
  Use *use = use_of(name.bytes(), token);
  if (use != nullptr && !mutant("own_permit_ends_nothing"))
    end(use);
}

bool uses_token(std::string_view name, int64 token) { return use_of(name, token) != nullptr; }

int64 token_in_use(std::string_view name) {
  const Use *use = current_use(name);
  return use == nullptr ? 0 : use->token;
}

int64 token_asked_for(std::string_view name) { return asked_for(current_use(name)); }

int64 only_token_asked_for(int *count) {
  Use *only = nullptr;
  *count = 0;
  for (int i = 0; i < use_count; i++)
    if (uses[i].ended == InvalidSubTransactionId) {
      only = &uses[i];
      ++*count;
    }
  return *count == 1 ? asked_for(only) : 0;
}

bool ended_alone(std::string_view name) {
  return alone.size > 0 && (name.empty() || name == std::string_view{alone.name, static_cast<size_t>(alone.size)});
}

bool uses_any_token() { return use_count > 0; }

uint64 uses_version() { return version; }

void register_use_callbacks() {
  RegisterXactCallback(on_transaction, nullptr);
  RegisterSubXactCallback(on_subtransaction, nullptr);
}

} // namespace gatepost
