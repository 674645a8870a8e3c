#include "token.hpp"

#include "errors.hpp"
#include "mutant.hpp"
#include "relations.hpp"
#include "sequence_page.hpp"
#include "testpoint.hpp"

namespace gatepost {
namespace {

// What this backend has seen drawn: tokens at or below it need no look at the sequence.
struct HighWater {
  int64 token;
  uint64 epoch;
} high_water;

} // namespace

int64 draw_token(Oid sequence) {
  // The caller's rights on the sequence do not matter: the function's own are what is granted.
  const int64 token = nextval_internal(sequence, false);
  if (high_water.epoch != relations_epoch() || token > high_water.token)
    high_water = {token, relations_epoch()};
  at(Point::token_drawn);
  return token;
}

void flush_tokens(Oid sequence, int64 token) {
  if (mutant("tokens_unflushed"))
    return;
  Relation rel = relation_open(sequence, NoLock);
  flush_sequence(rel, token);
  relation_close(rel, NoLock);
}

int64 last_token() {
  Relation rel = open_sequence();
  const SequencePage page = read_sequence(rel);
  close_sequence(rel);
  return page.last_value;
}

bool is_known_token(int64 token) {
  if (high_water.epoch == relations_epoch() && token <= high_water.token)
    return true;
  high_water = {last_token(), relations_epoch()};
  return token <= high_water.token || mutant("wild_tokens");
}

void require_known_token(int64 token) {
  if (is_known_token(token))
    return;
  ereport(ERROR,
          (errcode(unknown_token), errmsg("token %lld was never drawn here", static_cast<long long>(token)),
           errdetail("The highest token drawn in this database is %lld.", static_cast<long long>(high_water.token))));
}

} // namespace gatepost
