#!/usr/bin/env bash
# Every test: set-up, builds, the tests of the release build and of the test build beside each other, and scripts/checks.
#   check.sh [quick]      quick leaves out what starts servers of its own
#   GATEPOST_OLD_PG_CONFIG=PATH   of an older server that tests of upgrades begin from; without it, from this one
# Closes with one line, "N passed, N failed".
. "$(dirname "$0")/lib.sh"
mode=${1:-all}
begun=$EPOCHREALTIME
if [ "$mode" = quick ]; then "$HERE/scripts/setup.sh"; else "$HERE/scripts/setup.sh" packages.check packages.client packages.cli; fi
server_paths
say "Checking gatepost with $PG_VERSION"
old=${GATEPOST_OLD_PG_CONFIG:-}
[ "$mode" != quick ] || old=
[ -z "$old" ] || say "Upgrades begin from $("$old" --version)"
export GATEPOST_UPGRADE_FROM

timed() {
  local name=$1 started=$EPOCHREALTIME
  shift
  "$@"
  printf '  %-44s %8s s\n' "$name" "$(seconds_since "$started")"
}

build() { "$HERE/scripts/build.sh" "$@" >/dev/null; }
say "Building"
timed "release build" build release
timed "test build" build test
timed "modules of the tests" build modules
[ "$mode" = quick ] || timed "client" build client

roots() {
  local kind
  for kind in release test; do
    "$HERE/scripts/private_root.sh" "$WORK/$kind.root" "$BUILDS/$kind" "$BUILDS"/modules/*/
  done
  give_work
}
old_roots() {
  local kind
  for kind in release test; do
    "$HERE/scripts/old_root.sh" "$WORK/$kind.old" "$kind" >"$WORK/$kind.upgrade_from"
  done
  give_work
}
make_work
[ "$mode" = quick ] || timed "node's packages" take_node_packages
timed "private servers" roots
[ -z "$old" ] || timed "builds and servers of the older version" old_roots

# The tests of one build, as run_tests.sh wants them.
tests_in() {
  local input=$1
  (cd "$WORK/tree" && shopt -s nullglob && printf '%s\n' "$input"/sql/*.sql "$input"/specs/*.spec)
  [ "$mode" = quick ] || (cd "$WORK/tree" && shopt -s nullglob && printf '%s\n' "$input"/t/*.pl)
}
# lane KIND INPUT
lane() {
  local list
  set +m
  [ -z "$old" ] || read -r GATEPOST_UPGRADE_FROM <"$WORK/$1.upgrade_from"
  mapfile -t list < <(tests_in "$2" | grep .)
  [ ${#list[@]} -gt 0 ] || return 0
  as_server "$WORK/tree/scripts/run_tests.sh" "$WORK/$1.root" "$WORK/$1" "$1" "${list[@]}"
}
say "Testing"
failed_lanes=()
start_group lane release "test"
release=$GROUP
start_group lane test test/instrumented
wait "$release" || failed_lanes+=("$WORK/release")
wait "$GROUP" || failed_lanes+=("$WORK/test")
[ ${#failed_lanes[@]} -eq 0 ] || "$HERE/scripts/show_failures.sh" "${failed_lanes[@]}"

say "Other checks"
export GATEPOST_BUILDS=$BUILDS
mkdir -p "$WORK/checks"
for check in "$HERE"/scripts/checks/*.sh; do
  name=$(basename "$check" .sh) log=$WORK/checks/${check##*/}.log started=$EPOCHREALTIME status=0
  [ "$mode" != quick ] || ! grep -q '^# Takes long' "$check" || continue
  run_group bash "$check" >"$log" 2>&1 || status=$?
  passed=$(grep -cE '^ok ' "$log" || true)
  failed=$(grep -cE '^not ok ' "$log" || true)
  # A check that says nothing has checked nothing.
  [ $status -eq 0 ] && [ "$passed" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
  [ "$failed" -eq 0 ] || grep -vE '^ok ' "$log" | sed 's/^/    /' || true
  say "$passed $failed" >"$WORK/checks/$name.count"
  printf '  %-24s %4d passed, %d failed %8s s\n' "$name" "$passed" "$failed" "$(seconds_since "$started")"
done

total_passed=0 total_failed=0
while read -r passed failed; do
  total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
done < <(cat "$WORK"/*/*.count)
[ ${#failed_lanes[@]} -eq 0 ] || [ "$total_failed" -gt 0 ] || total_failed=1
say "In $(seconds_since "$begun") s:"
say "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
