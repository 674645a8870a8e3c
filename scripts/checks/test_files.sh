#!/usr/bin/env bash
# No test that nobody runs, no answer without its test, no two tests that would read the same answer, no mutant that
# no list has.
set -euo pipefail
cd "$(dirname "$0")/../.."
shopt -s nullglob
number=0 status=0

# report NAME LINES: passes when there are no lines
report() {
  number=$((number + 1))
  if [ -z "$2" ]; then
    echo "ok $number - $1"
  else
    echo "not ok $number - $1"
    while read -r line; do echo "#   $line"; done <<<"$2"
    status=1
  fi
}

with_answer=(test/{,instrumented/}{sql/*.sql,specs/*.spec})
names=$(for test in "${with_answer[@]}"; do basename "${test%.*}"; done | sort)
answers=$(for answer in expected/*.out; do basename "$answer" .out; done | sort)

report "every test with an answer has a name of its own" "$(uniq -d <<<"$names")"
report "every test has its answer" "$(comm -23 <(uniq <<<"$names") - <<<"$answers")"
# An alternative answer is called like the first, with _1 to _9.
report "every answer has its test" "$(comm -13 <(uniq <<<"$names") - <<<"$answers" |
  while read -r name; do grep -qxF -- "${name%_[0-9]}" <<<"$names" || echo "$name"; done)"
report "every test file lies where a runner looks" "$(find test -name '*.sql' -o -name '*.spec' -o -name '*.pl' |
  grep -vE '^test/(instrumented/)?(sql/[^/]+\.sql|specs/[^/]+\.spec|t/[^/]+\.pl|(common|writes)\.sql)$|^test/(modules|mutants|bench|perl|security)/' || true)"
# listed WHAT LIST SOURCE...    a mutant of one that is not one of the other
listed() {
  report "every mutant of $1 is in its list, and no other" "$(comm -3 <(grep -v '^#' "$2" | cut -f1 | sort -u) \
    <(grep -ohE 'mutant\("[a-z_]+"\)' "${@:3}" | cut -d'"' -f2 | sort -u))"
}
listed "the server" test/mutants/list.tsv src/*
listed "the client" cpp-client/test/mutants.tsv cpp-client/src/*
listed "the command" cpp-client/cli/test/mutants.tsv cpp-client/cli/*.?pp
echo "1..$number"
exit $status
