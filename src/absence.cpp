#include "absence.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

// An insert of the name changes this very page, and so does whatever gives part of its range to another: a split, or
// its deletion. Each is logged, so the page's position in the log rises with it.
bool is_unchanged(Relation index, const KnownLeaf &known) {
  // A page may keep its position in the next file, or have none. A table that its own transaction made is emptied in
  // its file.
  if ((known.lsn == InvalidXLogRecPtr && !mutant("pages_without_position_known")) ||
      (known.index_file != pg::file_of(index) && !mutant("former_files_believed")) ||
      (!pg::has_block(index, known.leaf) && !mutant("pages_past_the_end")))
    return false;
  const Buffer leaf = ReadBuffer(index, known.leaf);
  LockBuffer(leaf, BUFFER_LOCK_SHARE);
  const bool unchanged = BufferGetLSNAtomic(leaf) == known.lsn;
  UnlockReleaseBuffer(leaf);
  return unchanged || mutant("leaf_unwatched");
}

// The first item of a locked leaf that is not less than the key, past the last when all are.
OffsetNumber first_not_less(Relation index, BTScanInsert key, Page page) {
  OffsetNumber low = P_FIRSTDATAKEY(BTPageGetOpaque(page));
  OffsetNumber high = OffsetNumberNext(PageGetMaxOffsetNumber(page));
  while (low < high) {
    const OffsetNumber middle = low + (high - low) / 2;
    if (_bt_compare(index, key, page, middle) > 0)
      low = OffsetNumberNext(middle);
    else
      high = middle;
  }
  return low;
}

// Whether every entry of the key would be on this leaf, the first that the search comes to, and none is.
bool lacks(Relation index, BTScanInsert key, Page page) {
  const bool reaches_further = !P_RIGHTMOST(BTPageGetOpaque(page)) && _bt_compare(index, key, page, P_HIKEY) >= 0;
  if (reaches_further && !mutant("next_leaf_forgotten"))
    return false;
  const OffsetNumber item = first_not_less(index, key, page);
  return item > PageGetMaxOffsetNumber(page) || _bt_compare(index, key, page, item) != 0;
}

} // namespace

bool has_no_entry(Relation index, Datum first, KnownLeaf *known) {
  // Without a log nothing tells of a change.
  if (!RelationNeedsWAL(index) && !mutant("unlogged_changes_unseen"))
    return false;
  if (is_unchanged(index, *known))
    return true;
  const BTScanInsert key = pg::index_prefix_key(index, first);
  Buffer leaf = pg::find_leaf(index, key);
  bool absent;
  if (BufferIsValid(leaf)) {
    absent = lacks(index, key, BufferGetPage(leaf));
  } else {
    // There never was an entry. The first one changes the meta page, since it makes the root.
    leaf = ReadBuffer(index, BTREE_METAPAGE);
    LockBuffer(leaf, BUFFER_LOCK_SHARE);
    absent = BTPageGetMeta(BufferGetPage(leaf))->btm_root == P_NONE;
  }
  *known = {absent ? BufferGetLSNAtomic(leaf) : InvalidXLogRecPtr, BufferGetBlockNumber(leaf), pg::file_of(index)};
  UnlockReleaseBuffer(leaf);
  pfree(key);
  return absent;
}

} // namespace gatepost
