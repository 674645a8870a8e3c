#!/usr/bin/env bash
# Leaves promises of the command out, one at a time, beside the server that PGHOST names, and sees that a test fails:
#   mutants.sh LINE...      lines of mutants.tsv; the command in PATH is built with GATEPOST_MUTANTS
# That each test passes with nothing left out is for whoever runs the tests.
set -uo pipefail
tests=$GATEPOST_TREE/cpp-client/cli/test
number=0 status=0
# A test that waits in vain has failed. Some wait several times, and some machines are slow.
export GATEPOST_PATIENCE=12
limit=300
for line; do
  IFS=$'\t' read -r mutant test promise <<<"$line"
  read -ra test <<<"$test"
  begun=$EPOCHREALTIME
  database=mutant_$((++number))_$$
  mkdir "$database"
  log=$PWD/$database/log
  : >"$log"
  PGDATABASE=postgres psql -Xqc "CREATE DATABASE $database" && PGDATABASE=$database psql -Xqc 'CREATE EXTENSION gatepost' || {
    echo "not ok - $mutant: there is no database for it, nor for those after it" && exit 1
  }
  case ${test[0]} in *.pl) interpreter=perl ;; *) interpreter=bash ;; esac
  set -m
  (cd "$database" && PGDATABASE=$database GATEPOST_MUTANT=$mutant exec "$interpreter" "$tests/${test[0]}" "${test[@]:1}") >"$log" 2>&1 &
  process=$!
  set +m
  until grep -qE '^not ok|^1\.\.' "$log" || ! kill -0 $process 2>/dev/null || ((${EPOCHREALTIME/./} - ${begun/./} > limit * 1000000)); do sleep 0.1; done
  kill -KILL -- -$process 2>/dev/null
  wait $process 2>/dev/null
  # The server of terminals has left the group.
  TMUX_TMPDIR=$PWD/$database tmux -L gatepost kill-server 2>/dev/null
  took=$(((${EPOCHREALTIME/./} - ${begun/./}) / 1000))
  if grep -q '^not ok' "$log"; then
    echo "ok - $mutant: ${test[*]} notices ($promise), $took ms"
  else
    echo "not ok - $mutant: ${test[*]} does not notice ($promise), $took ms"
    tail -n 20 "$log" | sed 's/^/#   /'
    status=1
  fi
done
exit $status
