#!/usr/bin/env bash
# Runs single tests against a private root and cluster:
#   one.sh release|test|mutant=NAME TEST...
# TEST is the path of a file in test/ or test/instrumented/: sql/*.sql, specs/*.spec or t/*.pl. Fails when a test does.
# Upgrades begin from the server that GATEPOST_OLD_PG_CONFIG names, or from this one.
# KEEP=DIR copies results, diffs and logs there. UPDATE=1 copies what regress and isolation printed to expected/.
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: $0 release|test|mutant=NAME TEST..."
kind=$1
shift
tests=()
for test; do
  tests+=("test/${test##*test/}")
  [ -f "$HERE/${tests[-1]}" ] || die "no such test: $test"
done

server_paths
export GATEPOST_UPGRADE_FROM
if [[ $kind = mutant=* ]]; then
  export GATEPOST_MUTANT=${kind#mutant=}
  knows_mutant "$GATEPOST_MUTANT" || die "no source file knows a mutant \"$GATEPOST_MUTANT\""
  kind=test
fi
mapfile -t builds < <("$HERE/scripts/build.sh" "$kind" modules)
[ ${#builds[@]} -gt 0 ] || exit 1
make_work
"$HERE/scripts/private_root.sh" "$WORK/root" "${builds[@]}"
[[ "${tests[*]}" != *_orm.pl* ]] || take_node_packages
if [ -n "${GATEPOST_OLD_PG_CONFIG:-}" ]; then
  GATEPOST_UPGRADE_FROM=$("$HERE/scripts/old_root.sh" "$WORK/old" "$kind")
fi
give_work
status=0
run_group as_server "$WORK/tree/scripts/run_tests.sh" "$WORK/root" "$WORK/out" "$kind" "${tests[@]}" || status=$?

[ $status -eq 0 ] || "$HERE/scripts/show_failures.sh" "$WORK/out"
if [ -n "${UPDATE:-}" ]; then
  for result in "$WORK"/out/*/results/*.out; do [ ! -e "$result" ] || cat "$result" >"$HERE/expected/${result##*/}"; done
fi
if [ -n "${KEEP:-}" ]; then
  mkdir -p "$KEEP"
  cp -R "$WORK/out/." "$KEEP/"
fi
exit $status
