#include "known_names.hpp"

namespace gatepost {
namespace {

constexpr uint32 ways = 4;
constexpr uint32 first_sets = 64;
constexpr uint32 most_sets = 4096; // 1.6 MB

struct Set {
  KnownName names[ways];
};
static_assert(sizeof(KnownName) == 96);

Set *sets;
uint32 set_count; // a power of two

uint32 hash_of(const char *name, size_t size) {
  return hash_bytes(reinterpret_cast<const unsigned char *>(name), static_cast<int>(size));
}

Set *set_of(uint32 hash) { return &sets[hash & (set_count - 1)]; }

KnownName *empty_in(Set *set) {
  for (KnownName &entry : set->names)
    if (entry.size == 0)
      return &entry;
  return nullptr;
}

// Result: false when there is no memory for it, or enough is used. A set that overflows loses the rest, which costs
// those names another look.
bool grow() {
  const uint32 count = set_count == 0 ? first_sets : set_count * 2;
  if (count > most_sets)
    return false;
  auto *wider = static_cast<Set *>(
      MemoryContextAllocExtended(TopMemoryContext, sizeof(Set) * count, MCXT_ALLOC_ZERO | MCXT_ALLOC_NO_OOM));
  if (wider == nullptr)
    return false;
  Set *old = sets;
  const uint32 old_count = set_count;
  sets = wider;
  set_count = count;
  for (uint32 i = 0; i < old_count; i++)
    for (const KnownName &entry : old[i].names) {
      KnownName *fresh = entry.size > 0 ? empty_in(set_of(hash_of(entry.name, entry.size))) : nullptr;
      if (fresh != nullptr)
        *fresh = entry;
    }
  if (old != nullptr)
    pfree(old);
  return true;
}

} // namespace

KnownName *known_name(LeaseName name) {
  const auto bytes = name.bytes();
  if (set_count == 0 || bytes.size() > sizeof(KnownName::name))
    return nullptr;
  for (KnownName &entry : set_of(hash_of(bytes.data(), bytes.size()))->names)
    if (entry.size == bytes.size() && memcmp(entry.name, bytes.data(), bytes.size()) == 0)
      return &entry;
  return nullptr;
}

KnownName *remember_name(LeaseName name, uint64 key) {
  const auto bytes = name.bytes();
  if (bytes.size() > sizeof(KnownName::name))
    return nullptr;
  const uint32 hash = hash_of(bytes.data(), bytes.size());
  KnownName *entry = set_count > 0 ? empty_in(set_of(hash)) : nullptr;
  if (entry == nullptr && grow())
    entry = empty_in(set_of(hash));
  if (entry == nullptr) {
    if (set_count == 0)
      return nullptr;
    // The keys of names are as good as random.
    entry = &set_of(hash)->names[key % ways];
  }
  entry->key = key;
  entry->rows.lsn = entry->places.lsn = InvalidXLogRecPtr;
  ItemPointerSetInvalid(&entry->place);
  entry->size = static_cast<uint8>(bytes.size());
  memcpy(entry->name, bytes.data(), bytes.size());
  return entry;
}

} // namespace gatepost
