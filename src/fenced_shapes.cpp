#include "fenced_shapes.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

struct RememberedColumn {
  char name[NAMEDATALEN];
  FencedColumn column;
};

struct Remembered {
  MemoryContext context; // of what is pointed at; null: nothing is here
  bool valid;            // invalidation may come while an entry is looked at: it takes no memory away
  bool names_types;
  Oid relation;
  char fence_column[NAMEDATALEN];
  bool splits;
  bool policies;
  int key_count;
  int count;
  RememberedColumn *columns;
  char *update;
  char *probe;
  bool returns_mark;
};

constexpr int most = 64;
Remembered remembered[most];
int next_victim;
uint64 news;

bool is_member(const RememberedColumn &known, const Member &member) {
  return member.name == known.name && kind_of(member, known.column.type) == known.column.kind;
}

bool matches(const Remembered &known, const FencedShape &shape) {
  if (!known.valid || known.relation != shape.relation || known.splits != shape.splits ||
      (known.policies != shape.policies && !mutant("policies_of_another")) || known.key_count != shape.key.count ||
      known.count != shape.key.count + shape.changes.count || strcmp(known.fence_column, shape.fence_column) != 0)
    return false;
  for (int i = 0; i < shape.key.count; i++)
    if (!is_member(known.columns[i], shape.key.members[i]))
      return false;
  for (int i = 0; i < shape.changes.count; i++)
    if (!is_member(known.columns[known.key_count + i], shape.changes.members[i]))
      return false;
  return true;
}

// These run inside invalidation processing: they touch plain memory only.
void forget_relation(Datum, Oid relation) {
  if (mutant("shapes_kept"))
    return;
  news++;
  for (Remembered &known : remembered)
    if (relation == InvalidOid || relation == known.relation)
      known.valid = false;
}

void forget_all(Datum, int, uint32) { forget_relation(0, InvalidOid); }

void forget_types(Datum, int, uint32) {
  news++;
  for (Remembered &known : remembered)
    if (known.names_types && !mutant("type_names_kept"))
      known.valid = false;
}

Remembered &place_for_one() {
  for (Remembered &known : remembered)
    if (!known.valid)
      return known;
  Remembered &victim = remembered[next_victim];
  next_victim = (next_victim + 1) % most;
  return victim;
}

} // namespace

bool recall_text(const FencedShape &shape, FencedText *text) {
  text->as_of = news;
  for (const Remembered &known : remembered) {
    // Comparing looks up types, which may take in news of it.
    if (!matches(known, shape) || !known.valid)
      continue;
    auto columns = static_cast<FencedColumn *>(palloc(sizeof(FencedColumn) * (known.count + 1)));
    for (int i = 0; i < known.count; i++)
      columns[i] = known.columns[i].column;
    *text = {pstrdup(known.update), pstrdup(known.probe), known.returns_mark, columns, news};
    return true;
  }
  return false;
}

void remember_text(const FencedShape &shape, const FencedText &text) {
  if (text.as_of != news)
    return;
  MemoryContext context =
      AllocSetContextCreate(CurrentMemoryContext, "gatepost fenced statement", ALLOCSET_SMALL_SIZES);
  const int count = shape.key.count + shape.changes.count;
  Remembered one{
      context,
      true,
      false,
      shape.relation,
      {},
      shape.splits,
      shape.policies,
      shape.key.count,
      count,
      static_cast<RememberedColumn *>(MemoryContextAllocZero(context, sizeof(RememberedColumn) * (count + 1))),
      MemoryContextStrdup(context, text.update),
      MemoryContextStrdup(context, text.probe),
      text.returns_mark};
  strlcpy(one.fence_column, shape.fence_column, sizeof(one.fence_column));
  for (int i = 0; i < count; i++) {
    const Member &member = i < shape.key.count ? shape.key.members[i] : shape.changes.members[i - shape.key.count];
    memcpy(one.columns[i].name, member.name.data(), member.name.size());
    one.columns[i].column = text.columns[i];
    one.names_types = one.names_types || text.columns[i].kind == ValueKind::converted;
  }
  MemoryContextSetParent(context, TopMemoryContext);
  Remembered &place = place_for_one();
  MemoryContext old = place.context;
  place = one;
  if (old != nullptr)
    MemoryContextDelete(old);
}

void register_fenced_shapes() {
  CacheRegisterRelcacheCallback(forget_relation, 0);
  CacheRegisterSyscacheCallback(NAMESPACEOID, forget_all, 0);
  CacheRegisterSyscacheCallback(OPEROID, forget_all, 0);
  CacheRegisterSyscacheCallback(TYPEOID, forget_types, 0);
}

} // namespace gatepost
