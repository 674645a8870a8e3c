#!/usr/bin/env bash
# Runs the measurements named in ONLY against the server that the environment names. Each has a folder:
#   plan.sh           title, clients, contenders, aims ("CONTENDER REFERENCE at-least|at-most NUMBER"); and for contenders
#                     that differ: database, script, pgbench options and how many operations a script does (units); beside: options of three clients more, whose
#                     beside.sql runs at the same time and is not counted
#   setup.sql         run once, in a database named after the folder
#   CONTENDER.sql     a pgbench script, one operation
# A plan can measure by itself instead: a function measure that prints what it has found, with aims as in the tables.
. "$(dirname "$0")/../../scripts/lib.sh"
BENCH=$HERE/test/bench

newest_xid() { psql -XAtqc 'SELECT pg_snapshot_xmax(pg_current_snapshot())'; }

# bench CONTENDER CLIENTS SECONDS: prints "tps xids-per-operation".
bench() {
  local contender=$1 clients=$2 seconds=$3 try before after report
  # The time runs while clients connect; on a busy machine nothing may be left of it.
  for try in 1 2 3; do
    local load=
    if [ -n "${beside[$contender]:-}" ]; then
      # shellcheck disable=SC2086
      pgbench -n -M prepared -c 3 -j 1 -T $((seconds + 1)) ${beside[$contender]} -f "$folder/beside.sql" "$measurement" \
        >/dev/null 2>&1 &
      load=$!
    fi
    before=$(newest_xid)
    # shellcheck disable=SC2086
    report=$(pgbench -n -M prepared -c "$clients" -j 2 -T "$seconds" ${options[$contender]:-} \
      -f "$folder/${scripts[$contender]:-$contender}.sql" "${databases[$contender]:-$measurement}" 2>&1) ||
      die "pgbench failed: $report"
    [ -z "$load" ] || wait "$load" || die "the clients beside $contender failed"
    after=$(newest_xid)
    awk -v xids=$((after - before)) -v units="${units[$contender]:-1}" '
      /^number of transactions actually processed/ { split($NF, n, "/"); done = n[1] }
      /^tps/ { tps = $3 }
      END { if (!done) exit 1; print tps * units, xids / done }' <<<"$report" && return
  done
  die "pgbench measured nothing in $try tries: $report"
}

# Everybody in each round, in turns forwards and backwards, so that neither the place in a round nor the machine's
# moods favour one; ratios are taken within a round.
run_rounds() {
  local clients=$1 round contender order result
  # Once unmeasured, for the server's caches.
  for contender in "${contenders[@]}"; do bench "$contender" "$clients" 2 >/dev/null || exit 1; done
  for ((round = 1; round <= ROUNDS; round++)); do
    mapfile -t order < <(printf '%s\n' "${contenders[@]}" | if ((round % 2)); then cat; else tac; fi)
    for contender in "${order[@]}"; do
      result=$(bench "$contender" "$clients" "$SECONDS_EACH") || exit 1
      say "round $round $contender $result"
    done
  done
}

summary=
for measurement in $ONLY; do
  # run.sh measures these two by itself.
  [[ " client climb " != *" $measurement "* ]] || continue
  folder=$BENCH/$measurement
  declare -A databases=() scripts=() options=() beside=() units=()
  clients=() contenders=() aims=()
  unset -f measure
  . "$folder/plan.sh"
  createdb "$measurement"
  # Shared pieces are found from the folder.
  (cd "$folder" && PGOPTIONS='-c client_min_messages=warning' psql -Xq -v ON_ERROR_STOP=1 -f setup.sql "$measurement") >/dev/null
  if declare -F measure >/dev/null; then
    table=$(measure) || die "the measurement $measurement failed"
    say "$table"
    say
    summary+=$table$'\n'
    continue
  fi
  for count in "${clients[@]}"; do
    rounds=$(run_rounds "$count")
    table=$({
      for contender in "${contenders[@]}"; do say "contender $contender"; done
      for aim in "${aims[@]}"; do say "aim $aim"; done
      say "$rounds"
    } | awk -v title="$title, $count clients" -f "$BENCH/table.awk")
    say "$table"
    say
    summary+=$table$'\n'
  done
done
say "$(grep -c ' aim .* met$' <<<"$summary") aims met, $(grep -c ' aim .* MISSED$' <<<"$summary" || true) missed" \
  "($ROUNDS rounds of $SECONDS_EACH s; medians; ratios are medians over the rounds)"
