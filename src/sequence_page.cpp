#include "sequence_page.hpp"

#include "mutant.hpp"
#include "relations.hpp"
#include "token_layout.hpp"

namespace gatepost {
namespace {

constexpr int64 logged_ahead = 256;

HeapTupleHeader tuple_on(Page page) {
  return reinterpret_cast<HeapTupleHeader>(PageGetItem(page, PageGetItemId(page, FirstOffsetNumber)));
}

Form_pg_sequence_data data_of(HeapTupleHeader header) {
  return reinterpret_cast<Form_pg_sequence_data>(reinterpret_cast<char *>(header) + header->t_hoff);
}

// Whether recovery may begin behind the last record of the page. A draw writes one when it does; but a checkpoint that
// begins between its look and its change of the page may have passed that by, without the value that is drawn.
bool passed_by(XLogRecPtr lsn) { return lsn <= GetRedoRecPtr() && !mutant("draws_beside_checkpoints_kept"); }

// Values left to be drawn without a record, by which nextval itself decides.
bool due(Form_pg_sequence_data data, XLogRecPtr lsn) {
  const bool few = data->log_cnt <= logged_ahead / 2 && !mutant("tokens_not_ahead");
  return data->is_called && (few || passed_by(lsn)) && data->last_value <= max_token - logged_ahead * token_step;
}

// The same record that nextval writes, further ahead.
void log_ahead(Relation sequence) {
  const Buffer buffer = ReadBuffer(sequence, 0);
  LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
  const Page page = BufferGetPage(buffer);
  const HeapTupleHeader header = tuple_on(page);
  const Form_pg_sequence_data data = data_of(header);
  if (due(data, PageGetLSN(page))) {
    const int64 last_value = data->last_value;
    xl_seq_rec record = pg::sequence_record(sequence);
    pg::enter_critical_section();
    MarkBufferDirty(buffer);
    data->last_value = last_value + logged_ahead * token_step;
    data->log_cnt = 0;
    XLogBeginInsert();
    XLogRegisterBuffer(0, buffer, REGBUF_WILL_INIT);
    XLogRegisterData(reinterpret_cast<char *>(&record), sizeof record);
    XLogRegisterData(reinterpret_cast<char *>(header), ItemIdGetLength(PageGetItemId(page, FirstOffsetNumber)));
    const XLogRecPtr end = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);
    PageSetLSN(page, end);
    data->last_value = last_value;
    data->log_cnt = logged_ahead;
    pg::leave_critical_section();
  }
  UnlockReleaseBuffer(buffer);
}

// What this backend knows of the log on disk. A sequence that somebody sets back makes it worthless, and so does a
// checkpoint: it writes the page without what was logged ahead, and recovery begins behind that record.
struct Coverage {
  int64 flushed; // covered by what is flushed
  XLogRecPtr flushed_lsn;
  int64 pending; // covered when pending_lsn is flushed
  XLogRecPtr pending_lsn;
  int64 last_token;
  uint64 epoch;
} known;

void note_flushed(int64 covered, XLogRecPtr lsn) {
  if (covered < known.flushed)
    return;
  known.flushed = covered;
  known.flushed_lsn = lsn;
}

// After the draw: a checkpoint that begins later writes a page that has the token.
void note(const SequencePage &page) {
  const XLogRecPtr flushed = GetFlushRecPtr(nullptr);
  if (known.pending_lsn <= flushed && known.pending > 0) {
    note_flushed(known.pending, known.pending_lsn);
    known.pending = 0;
  }
  if (known.flushed_lsn <= GetRedoRecPtr() && !mutant("checkpoints_forgotten"))
    known.flushed = 0;
  if (page.lsn <= flushed)
    return note_flushed(page.covered, page.lsn);
  known.pending = page.covered;
  known.pending_lsn = page.lsn;
}

} // namespace

SequencePage read_sequence(Relation sequence) {
  const Buffer buffer = ReadBuffer(sequence, 0);
  LockBuffer(buffer, BUFFER_LOCK_SHARE);
  const Page page = BufferGetPage(buffer);
  const Form_pg_sequence_data data = data_of(tuple_on(page));
  const SequencePage result{data->last_value, data->last_value + data->log_cnt * token_step, PageGetLSN(page)};
  UnlockReleaseBuffer(buffer);
  return result;
}

void flush_sequence(Relation sequence, int64 token) {
  if (known.epoch != relations_epoch() || token <= known.last_token)
    known = {};
  known.epoch = relations_epoch();
  known.last_token = token;
  SequencePage page = read_sequence(sequence);
  if (passed_by(page.lsn)) {
    log_ahead(sequence);
    page = read_sequence(sequence);
  }
  note(page);
  if (page.covered - page.last_value <= logged_ahead / 2 * token_step)
    log_ahead(sequence);
  // The older record covers the token too: nobody waits for the one just written.
  if (token > known.flushed)
    XLogFlush(page.lsn);
}

} // namespace gatepost
