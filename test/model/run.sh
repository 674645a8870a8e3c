#!/usr/bin/env bash
# Runs the models of test/model through SPIN, each line of runs.tsv exhaustively: what must hold holds, and each rule that is
# left out has a counterexample. Closes with one line, "N passed, N failed".
#   run.sh [MODEL...]                  only these
#   run.sh trail MODEL [-DNAME...]     the counterexample of one run, the shortest that a search to ever greater depth finds
. "$(dirname "$0")/../../scripts/lib.sh"
# A run that needs more proves nothing: gigabytes of memory, seconds.
export MODEL_MEMORY=4 MODEL_SECONDS=${MODEL_SECONDS:-600}
models=$HERE/test/model
"$HERE/scripts/setup.sh" packages.model
command -v gcc >/dev/null || die "a C compiler is missing"
WORK=$(mktemp -d /tmp/gatepost.XXXXXX)
trap end_work EXIT
exit_on_signals

# Builds the verifier in a folder of its own.
build() { # FOLDER MODEL SWITCHES
  mkdir "$1" && cp "$models/$2.pml" "$1/model.pml" && cd "$1"
  # shellcheck disable=SC2086
  spin $3 -a model.pml >spin.log && gcc -O1 -w -DSAFETY -DMEMLIM=$((MODEL_MEMORY * 1024)) ${4:-} -o pan pan.c
}

# One line of the list.
run() { # NUMBER WANT MODEL SWITCHES
  local out=$WORK/$1 errors states complete=yes verdict=ok
  build "$WORK/run$1" "$3" "$4" >"$out.build" 2>&1 || { say "not ok - $3 $4: does not build" && cat "$out.build" && return; }
  timeout "$MODEL_SECONDS" ./pan -m1000000 >"$out.pan" 2>&1 || true
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$out.pan")
  states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$out.pan")
  ! grep -qE 'max search depth too small|reached -DMEMLIM' "$out.pan" || complete=no
  case $2 in
  holds) [ "$errors" = 0 ] && [ $complete = yes ] || verdict="not ok" ;;
  trail) grep -qE '^pan:1: (assertion violated|invalid end state)' "$out.pan" && ! grep -q 'invalid array index' "$out.pan" || verdict="not ok" ;;
  esac
  printf '%s - %s %s: wanted: %s, errors %s, %s states, %s s\n' "$verdict" "$3" "$4" "$2" "${errors:-unknown}" "${states:-no}" \
    "$(sed -n 's/.*elapsed time \([0-9.e+-]*\) seconds/\1/p' "$out.pan")"
  [ "$verdict" = ok ] || tail -n 20 "$out.pan" | cut -c1-200 | sed 's/^/# /'
  rm -rf "$WORK/run$1"
}

if [ "${1:-}" = trail ]; then
  build "$WORK/trail" "$2" "${*:3}" -DREACH || die "$2 ${*:3} does not build"
  ./pan -i -m4000 | grep -E '^pan:1|errors:' | cut -c1-200
  spin -t -p "${@:3}" model.pml | grep -v '^spin: text' | cut -c1-160
  exit
fi

only=("$@")
list=$WORK/list
grep -v '^#' "$models/runs.tsv" | while IFS=$'\t' read -r want model switches; do
  [ ${#only[@]} -gt 0 ] && [[ " ${only[*]} " != *" $model "* ]] || printf '%s\0%s\0%s\0' "$want" "$model" "$switches"
done >"$list"
begun=$EPOCHREALTIME
export -f run build say
export models WORK
# As many at once as there are processors.
run_all() {
  local number=0 want model switches
  while IFS= read -r -d '' want && IFS= read -r -d '' model && IFS= read -r -d '' switches; do
    number=$((number + 1))
    printf '%s\0%s\0%s\0%s\0' $number "$want" "$model" "$switches"
  done <"$list" | xargs -0 -n 4 -P "$(nproc)" bash -c 'run "$@"' run | tee "$WORK/results"
}
run_group run_all
passed=$(grep -c '^ok ' "$WORK/results" || true)
failed=$(grep -c '^not ok ' "$WORK/results" || true)
[ "$passed" -gt 0 ] || failed=$((failed + 1))
say "In $(seconds_since "$begun") s:"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
