#!/usr/bin/env bash
# Prints what went wrong, from folders written by run_tests.sh:  show_failures.sh OUT...
. "$(dirname "$0")/lib.sh"
shopt -s nullglob
for out; do
  for count in "$out"/*.count; do
    read -r _ failed <"$count"
    [ "$failed" -gt 0 ] || continue
    dir=${count%.count}
    say "--- ${out##*/} ${dir##*/}"
    if [ -d "$dir/log" ]; then
      # One that was ended because it hung has no result at all.
      for log in $(grep -L '^Result: PASS' "$dir"/log/*.log); do
        say "${log##*/}"
        grep -E -A 8 '^not ok|Bail out|^# .*(rror|ailed)' "$log" | head -n 60 || true
        tail -n 15 "$log"
        server_log=$dir/tmp_check/log/regress_log_$(basename "$log" .pl.log)
        [ ! -e "$server_log" ] || tail -n 10 "$server_log"
      done
    elif [ -s "$dir/regression.diffs" ]; then
      head -n 400 "$dir/regression.diffs"
      grep -aE 'PANIC|FATAL|terminated by signal|TRAP' "$out/cluster/server.log" | grep -vE 'terminating connection|does not exist' | tail -n 10 || true
    else
      tail -n 40 "$dir/runner.log"
      tail -n 20 "$out/cluster/server.log"
    fi
  done
done
