// The one page of the token sequence: what it says, and how much of it the log on disk covers.
//
// nextval logs a value 32 draws ahead, and what is drawn up to there needs no record. But the first draws after such a
// record must wait until it is flushed: with 32 sessions that draw, everybody would wait for two flushes a grant. So a
// record is written here while half of the last one is still to be drawn; it is flushed along with somebody's commit
// long before its values are needed.
#pragma once

#include "pg.hpp"

namespace gatepost {

struct SequencePage {
  int64 last_value;
  int64 covered;  // after a crash the sequence goes on above this, once lsn is flushed
  XLogRecPtr lsn; // of the record that says so
};

SequencePage read_sequence(Relation sequence);

// Makes sure that no crash can bring the token back, and logs ahead when that is due. The token must have been drawn
// in this transaction.
void flush_sequence(Relation sequence, int64 token);

} // namespace gatepost
