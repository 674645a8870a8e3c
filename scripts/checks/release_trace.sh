#!/usr/bin/env bash
# The release build holds no trace of the test build: nobody can stop or change a call of a production server.
set -euo pipefail
: "${GATEPOST_BUILDS:?the folder of the builds}"
status=0
words='gatepost_test|test_pause|test_fault|test_timer|test_bound|gatepost_mutant|fault at|define_test_settings|gatepost::(at|trace|woken)\('

# What debuggers read names the source files and is never executed.
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
traces() {
  strip -g -o "$copy" "$GATEPOST_BUILDS/$1/gatepost.so"
  { strings -a "$copy" && nm -C "$copy"; } | grep -iE "$words" || true
}
# The words are worth something only if the test build holds each of them.
missing=
for word in gatepost_test GATEPOST_MUTANT test_pause test_fault test_timer test_bound 'fault at' define_test_settings 'gatepost::at(' 'gatepost::trace(' 'gatepost::woken('; do
  traces test | grep -qF "$word" || missing+=" '$word'"
done
[ -z "$missing" ] && echo "ok 1 - the test build is recognised" ||
  { echo "not ok 1 - the test build is recognised, but for$missing" && status=1; }
found=$(traces release)
[ -z "$found" ] && echo "ok 2 - the release build has no trace of it" ||
  { printf 'not ok 2 - the release build has no trace of it\n#   %s\n' "${found//$'\n'/$'\n#   '}" && status=1; }
echo "1..2"
exit $status
