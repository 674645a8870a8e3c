#!/usr/bin/env bash
# Runs tests, from a tree that the server's user may read, as that user:
#   run_tests.sh ROOT OUT LABEL TEST...
# TEST is the path, below the tree, of a file in test/ or test/instrumented/: sql/*.sql, specs/*.spec or t/*.pl.
# Each kind leaves OUT/KIND-INPUT, what its runner wrote, and OUT/KIND-INPUT.count, "passed failed". Fails when a test does.
. "$(dirname "$0")/cluster.sh"
root=$1 out=$2 label=$3
shift 3
export PATH="$root$PG_BIN:$PATH"
mkdir -p "$out"
all_passed=0

# finish DIR NAME STATUS PASSED FAILED: a runner that fails without naming a test counts as one.
finish() {
  local dir=$1 name=$2 status=$3 passed=$4 failed=$5
  [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
  printf '%s %s\n' "$passed" "$failed" >"$dir.count"
  printf '  %-24s %4d passed, %d failed %8s s\n' "$name" "$passed" "$failed" "$(seconds_since "$started")"
  [ "$failed" -eq 0 ] || all_passed=1
}

# Nobody in the background keeps a snapshot that a VACUUM of the tests has to respect, or changes a plan.
quiet=(-c autovacuum=off -c checkpoint_timeout=1h)

# with_server KIND INPUT NAME...
with_server() {
  local kind=$1 input=$2 dir=$out/$1-${2##*/} status=0 passed name runner database started=$EPOCHREALTIME
  shift 2
  [ -n "${CLUSTER:-}" ] || cluster_start "$root" "$out/cluster" "${quiet[@]}" -c statement_timeout=5min
  case $kind in
  regress) runner=$PG_TEST/regress/pg_regress database=contrib_regression ;;
  isolation) runner=$PG_TEST/isolation/pg_isolation_regress database=isolation_regression ;;
  esac
  mkdir -p "$dir"
  # The runners look for answers beside the folder they write to. Without its answer a test fails; they would stop.
  ln -s "$HERE/expected" "$dir/expected"
  for name; do [ -e "$HERE/expected/$name.out" ] || : >"$HERE/expected/$name.out"; done
  run_group env -C "$dir" "$runner" --inputdir="$HERE/$input" --outputdir=. --bindir="$root$PG_BIN" \
    --dbname=$database "$@" >"$dir/runner.log" 2>&1 || status=$?
  # "test NAME ... ok" up to PostgreSQL 15, "ok 1 - NAME" later. A test the runner did not come to has failed.
  passed=$(grep -cE '^ok [0-9]+ |^(test )? *[^ ]+ +\.\.\. ok ' "$dir/runner.log" || true)
  finish "$dir" "$label $kind" $status "$passed" $(($# - passed))
}

# prove_all DIR FILE...    two at a time, each with a server of its own; one that hangs is ended
prove_all() {
  local dir=$1
  shift
  set +m
  cd "$HERE"
  export PERL5LIB="$PG_TEST/perl${PERL5LIB:+:$PERL5LIB}" PG_REGRESS="$PG_TEST/regress/pg_regress" PGPORT=65432
  export TESTDIR="$dir" TESTDATADIR="$dir/tmp_check" TESTLOGDIR="$dir/tmp_check/log" LOGS="$dir/log"
  unset PGHOST PGUSER PGDATABASE
  # The Perl modules take LC_ALL away, and what is left says how their clusters encode.
  export LANG=C.UTF-8
  # shellcheck disable=SC2016
  printf '%s\0' "$@" |
    xargs -0 -n 1 -P 2 sh -c 'prove --verbose --timer --exec "timeout --foreground -k 10 600 perl" "$0" >"$LOGS/${0##*/}.log" 2>&1'
}

# with_perl INPUT FILE...
with_perl() {
  local input=$1 dir=$out/tap-${1##*/} status=0 passed failed started=$EPOCHREALTIME
  shift
  mkdir -p "$dir/log"
  run_group prove_all "$dir" "${@/#/$input/t/}" || status=1
  passed=$(cat "$dir"/log/*.log | grep -E '^ok [0-9]' | grep -cvE '# (skip|SKIP)' || true)
  failed=$(cat "$dir"/log/*.log | grep -cE '^not ok [0-9]' || true)
  finish "$dir" "$label tap" $status "$passed" "$failed"
}

declare -A names
for test; do
  file=${test##*/} input=${test%/*/*}
  case $test in
  */sql/*.sql) names[regress:$input]+=" ${file%.sql}" ;;
  */specs/*.spec) names[isolation:$input]+=" ${file%.spec}" ;;
  */t/*.pl) names[tap:$input]+=" $file" ;;
  *) die "not a test: $test" ;;
  esac
done

# A step that nobody lets go on fails its spec after this many seconds.
export PGISOLATIONTIMEOUT=${PGISOLATIONTIMEOUT:-60}

trap end_cluster EXIT
exit_on_signals
for kind in regress isolation tap; do
  for input in "test" test/instrumented; do
    read -ra list <<<"${names[$kind:$input]:-}"
    [ ${#list[@]} -gt 0 ] || continue
    case $kind in
    tap) with_perl "$input" "${list[@]}" ;;
    *) with_server "$kind" "$input" "${list[@]}" ;;
    esac
  done
done
exit $all_passed
