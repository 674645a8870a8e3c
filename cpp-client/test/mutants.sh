#!/usr/bin/env bash
# Leaves promises of the library out, one at a time, beside the server that PGHOST names, and sees that a test fails:
#   mutants.sh BUILD LINE...      lines of mutants.tsv; BUILD has gatepost_tests with GATEPOST_MUTANTS
# That each test passes with nothing left out is for whoever runs the suite.
set -uo pipefail
build=$1/cpp-client/test
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for line; do
  IFS=$'\t' read -r mutant test promise <<<"$line"
  begun=$EPOCHREALTIME
  case $test in
  pause\ *) command=("$build/gatepost_pause" "${test#pause }") ran='pauses from seed' ;;
  *) command=("$build/gatepost_tests" "--gtest_filter=$test") ran='Running 1 test from' ;;
  esac
  export GATEPOST_MUTANT=$mutant
  if { timeout --kill-after=5 60 "${command[@]}"; } >"$log" 2>&1; then
    echo "not ok - $mutant: $test does not notice ($promise)"
    status=1
  elif ! grep -q "$ran" "$log"; then
    echo "not ok - $mutant: $test did not run"
    tail -n 20 "$log" | sed 's/^/#   /'
    status=1
  else
    echo "ok - $mutant: $test notices ($promise), $(((${EPOCHREALTIME/./} - ${begun/./}) / 1000)) ms"
  fi
done
exit $status
