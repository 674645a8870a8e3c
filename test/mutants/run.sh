#!/usr/bin/env bash
# Runs each test of list.tsv against the build that leaves its promise out, and fails when a test does not notice.
#   run.sh [MUTANT...]      only these
. "$(dirname "$0")/../../scripts/lib.sh"
# A test that hangs on a mutant has noticed it.
export PGISOLATIONTIMEOUT=15
limit=150
list=$HERE/test/mutants/list.tsv
one=$HERE/scripts/one.sh

# Lines of the list without comments: MUTANT TEST PROMISE, separated by tabs
entries() { grep -v '^#' "$list"; }

wanted() {
  [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}

only=("$@")
passed=0 failed=0
report() {
  if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  say "$1 - $2"
}

if [ ${#only[@]} -eq 0 ]; then
  unlisted=$(comm -13 <(entries | cut -f1 | sort -u) \
    <(grep -oh 'mutant("[a-z_]*")' "$HERE"/src/* | sed 's/.*"\(.*\)".*/\1/' | sort -u) | tr '\n' ' ')
  if [ -z "$unlisted" ]; then report ok "every mutant of src/ is in the list"; else report "not ok" "not in the list: $unlisted"; fi
fi

while IFS=$'\t' read -r mutant test promise; do
  wanted "$mutant" || continue
  log=$(mktemp)
  if ! "$one" test "$test" >"$log" 2>&1; then
    cat "$log"
    report "not ok" "$test fails without any mutant"
  elif timeout --kill-after=20 "$limit" "$one" "mutant=$mutant" "$test" >"$log" 2>&1; then
    report "not ok" "$mutant: $test does not notice ($promise)"
  elif grep -q 'the build of .* failed' "$log"; then
    cat "$log"
    report "not ok" "$mutant does not build"
  else
    report ok "$mutant: $test notices ($promise)"
  fi
  rm -f "$log"
done < <(entries)

say "$passed passed, $failed failed"
[ $failed -eq 0 ]
