// Tables of rows that were made beforehand and are overwritten in place: without an xid, seen by everybody at once,
// never rolled back, and in the log in its order. Who overwrites has the mutex LockClass::refusals.
#pragma once

#include "ledger_layout.hpp"
#include "pg.hpp"

#include <string_view>

namespace gatepost {

inline constexpr size_t longest_premade = 256;

using PremadeVisit = bool (*)(void *context, ItemPointer place, const void *bytes);

void visit_premade(Relation rel, size_t size, PremadeVisit visit, void *context);

// Calls each(const Data &, ItemPointer) -> bool for every row, newest state, until it answers false.
template <class Data, class Each> void each_premade(Relation rel, Each each) {
  static_assert(row_bytes<Data> > 0 && row_bytes<Data> <= longest_premade);
  visit_premade(
      rel, row_bytes<Data>,
      [](void *context, ItemPointer place, const void *bytes) {
        Data data;
        memcpy(static_cast<void *>(&data), bytes, row_bytes<Data>);
        return (*static_cast<Each *>(context))(static_cast<const Data &>(data), place);
      },
      &each);
}

bool overwrite_premade_bytes(Relation rel, ItemPointer place, const void *bytes, size_t size);

// Overwrites the row at that place. Result: false when another session has locked or changed the row.
template <class Data> bool overwrite_premade(Relation rel, const ItemPointerData &place, const Data &data) {
  ItemPointerData copy = place;
  return overwrite_premade_bytes(rel, &copy, &data, row_bytes<Data>);
}

// A name as it fits a column of type name: whole, or cut between characters and ended by "..".
NameData cut_name(const char *bytes, size_t size);

// What of the name is known. whole: false when more may have followed.
std::string_view known_part(const NameData &name, bool *whole);

} // namespace gatepost
