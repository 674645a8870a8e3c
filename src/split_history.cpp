#include "split_history.hpp"

#include "errors.hpp"
#include "mutant.hpp"
#include "token_layout.hpp"

namespace gatepost {

bool split(int64 mark, int64 token) {
  // No server is in generation 0: numbers that small are somebody's own.
  return generation_of(mark) > 0 && generation_of(mark) == generation_of(token) && nonce_of(mark) != nonce_of(token) &&
         !mutant("split_accepted");
}

void refuse_split(int64 mark, int64 token, const char *kind, const char *name) {
  ereport(ERROR,
          (errcode(split_history),
           errmsg("token %lld is of another history than mark %lld of %s \"%s\"", static_cast<long long>(token),
                  static_cast<long long>(mark), kind, name),
           errdetail("Both are of one generation, drawn by two servers that went on apart."),
           errhint("Let one of the servers go on: tokens that it draws after token_raise_generation() are accepted.")));
}

} // namespace gatepost
