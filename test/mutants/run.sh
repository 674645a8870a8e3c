#!/usr/bin/env bash
# Runs each test of list.tsv with its promise left out, and fails when the test does not notice. Before that each test is
# seen to pass, once.
#   run.sh [--from MUTANT] [MUTANT...]      the list from this mutant on; only these
#   SHARD=1/4      the first of four parts. The lines of one test stay together.
#   STATE=FILE     what passed and what was noticed is noted there, and what the file has is not run again
#   KEEP=DIR       what the tests said: DIR/TEST.MUTANT.log
# A line of result says how long the test took until it failed.
. "$(dirname "$0")/../../scripts/lib.sh"
begun=$EPOCHREALTIME
list=$HERE/test/mutants/list.tsv
# A test that hangs on a mutant has noticed it: a step of a spec, a query of a TAP test, and the whole.
step_limit=15 query_limit=40 limit=150

only=() from=
while [ $# -gt 0 ]; do
  case $1 in
  --from) from=${2:?--from wants the name of a mutant} && shift ;;
  -*) die "usage: $0 [--from MUTANT] [MUTANT...]" ;;
  *) only+=("$1") ;;
  esac
  shift
done
part=${SHARD:-1/1}
[[ $part =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] && [ "${part%/*}" -le "${part#*/}" ] || die "SHARD is a part of all, such as 1/4"
state=$(realpath -m -- "${STATE:-/dev/null}")
keep=${KEEP:+$(realpath -m -- "$KEEP")}
[ -z "$keep" ] || mkdir -p "$keep"

# Lines without comments: MUTANT TEST PROMISE, separated by tabs; those of this part.
entries() {
  awk -F '\t' -v part="${part%/*}" -v parts="${part#*/}" '
    /^#/ { next }
    !($2 in number) { number[$2] = tests++ }
    number[$2] % parts == part - 1' "$list"
}

wanted() {
  [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}
for name in ${from:+"$from"} "${only[@]}"; do
  grep -q "^$name"$'\t' "$list" || die "not in the list: $name"
done

passed=0 failed=0
report() {
  if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  say "$1 - $2"
}

server_paths
export GATEPOST_UPGRADE_FROM
mapfile -t builds < <("$HERE/scripts/build.sh" test modules)
[ ${#builds[@]} -gt 0 ] || exit 1
make_work
"$HERE/scripts/private_root.sh" "$WORK/root" "${builds[@]}"
! entries | grep -q _orm.pl || take_node_packages
mkdir "$WORK/templates"
export GATEPOST_TEMPLATES=$WORK/templates
give_work

# run_test MUTANT TEST: with no promise left out when MUTANT is empty. What it says goes to $log.
log=$WORK/log
run_test() {
  local mutant=$1 test=$2 status=0 out=$WORK/out settings=()
  [ -z "$mutant" ] || settings=("GATEPOST_MUTANT=$mutant" "PGISOLATIONTIMEOUT=$step_limit"
    "PG_TEST_TIMEOUT_DEFAULT=$query_limit")
  run_group as_server env "${settings[@]}" timeout --foreground --kill-after=30 "$limit" \
    "$WORK/tree/scripts/run_tests.sh" "$WORK/root" "$out" "${mutant:-test}" "$test" >"$log" 2>&1 </dev/null || status=$?
  # Groups that are gone are forgotten, since their numbers come again.
  end_groups "$GROUP"
  RUNNING=()
  [ $status -eq 0 ] || "$HERE/scripts/show_failures.sh" "$out" >>"$log" 2>&1 || true
  end_servers "$WORK"
  rm -rf "$out" "$WORK"/tmp/*
  [ -z "$keep" ] || cp "$log" "$keep/$(basename "$test").${mutant:-none}.log"
  return $status
}

# Whether a test passes with every promise kept: yes or no, by its name.
declare -A passes
earlier=0
# noted MUTANT TEST, note MUTANT TEST: in the state, where a test that passed has the mutant none.
noted() { grep -qsxF "$1"$'\t'"$2" "$state"; }
note() { say "$1"$'\t'"$2" >>"$state"; }
while IFS=$'\t' read -r mutant test promise; do
  [ -z "$from" ] || [ "$mutant" = "$from" ] || continue
  from=
  wanted "$mutant" || continue
  if noted "$mutant" "$test"; then
    earlier=$((earlier + 1))
    continue
  fi
  if ! knows_mutant "$mutant"; then
    report "not ok" "$mutant: no source file knows it"
    continue
  fi
  if [ -z "${passes[$test]:-}" ] && ! noted none "$test"; then
    passes[$test]=no
    if run_test "" "$test"; then
      passes[$test]=yes
      note none "$test"
    else
      cat "$log"
    fi
  fi
  if [ "${passes[$test]:-}" = no ]; then
    report "not ok" "$mutant: $test fails without any mutant"
    continue
  fi
  started=$EPOCHREALTIME status=0
  run_test "$mutant" "$test" || status=$?
  took=$(seconds_since "$started")
  case $status in
  0) report "not ok" "$took s, $mutant: $test does not notice ($promise)" ;;
  124 | 137) report ok "$took s, $mutant: $test hangs ($promise)" ;;
  *) report ok "$took s, $mutant: $test notices ($promise)" ;;
  esac
  [ $status -eq 0 ] || note "$mutant" "$test"
done < <(entries)

[ $earlier -eq 0 ] || say "$earlier were noticed before"
say "$((passed + earlier)) passed, $failed failed in $(seconds_since "$begun") s"
[ $failed -eq 0 ]
