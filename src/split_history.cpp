#include "split_history.hpp"

#include "errors.hpp"
#include "mutant.hpp"
#include "token_layout.hpp"

namespace gatepost {

bool split(int64 mark, int64 token) {
  constexpr int64 nonce = token_step - 1;
  // No server is in generation 0: numbers that small are somebody's own.
  return generation_of(mark) > 0 && generation_of(mark) == generation_of(token) && (mark & nonce) != (token & nonce) &&
         !mutant("split_accepted");
}

void refuse_split(int64 mark, int64 token, const char *where) {
  ereport(ERROR,
          (errcode(split_history),
           errmsg("token %lld and mark %lld come from servers whose histories have split",
                  static_cast<long long>(token), static_cast<long long>(mark)),
           errdetail("Both are of generation %lld, and the mark is kept by \"%s\".",
                     static_cast<long long>(generation_of(mark)), where),
           errhint("Decide which history goes on; there, call gatepost.token_raise_generation() with the mark.")));
}

} // namespace gatepost
