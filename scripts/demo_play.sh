#!/usr/bin/env bash
# Plays the three acts of the demo inside cluster.sh:  demo_play.sh WORKER PAUSE LEASE yes|no (colour) [GATEPOST FILE]
# With the command and a file it draws the timeline there.
# Everything it prints was told by the workers or read from the server. Fails unless the unfenced act shows the damage
# and the others refuse it (with a pause shorter than the lease: unless none has any).
. "$(dirname "$0")/lib.sh"
worker=$1 pause=$2 lease=$3 colour=$4 gatepost=${5:-} timeline=${6:-}
lease_ms=$((lease * 1000)) asks_ms=$((lease * 1000 + 100))
pause_ms=$(awk -v s="$pause" 'BEGIN { printf "%d", s * 1000 }')
# Worker 1 sells 1 of 10 items, worker 2 sells 3.
start_items=10 only_first=9 only_second=7 both=6

red='' green='' bold='' dim='' off=''
declare -A tint=(["worker 1"]='' ["worker 2"]='' [demo]='')
if [ "$colour" = yes ]; then
  red=$'\e[1;31m' green=$'\e[1;32m' bold=$'\e[1m' dim=$'\e[2m' off=$'\e[0m'
  tint=(["worker 1"]=$'\e[36m' ["worker 2"]=$'\e[35m' [demo]=$dim)
fi

query() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }

# line MS WHO WHAT [TOKEN ANSWER [COLOUR]]
line() {
  printf '  %6s  %s%-8s%s  ' "$1" "${tint[$2]}" "$2" "$off"
  if [ -z "${4:-}${5:-}" ]; then
    printf '%s\n' "$3"
  else
    printf '%-38s %-16s %s%s%s\n' "$3" "$4" "${6:-}" "$5" "$off"
  fi
}
heading() {
  printf '\n%s%s%s\n' "$bold" "$1" "$off"
  printf '%s  %6s  %-8s  %-38s %-16s %s%s\n' "$dim" ms who what token answer "$off"
}
# Without a fork, since the moments shown are those of the processes: sets at to the milliseconds since worker 1's grant.
at_ms() {
  at=''
  [ "$zero" -eq 0 ] || at=$((($1 - zero) / 1000))
}

declare -A pid status token answer bypass released
start_worker() { # NAME ITEMS LEASE START_AT INPUT; its work begins with a line of it, or its end
  "$worker" "$1" "$2" "$fence" "$3" "$4" <"$5" >&3 2>"$errors/$1" &
  pid[$1]=$!
}

alive() { [ -n "${pid[$1]:-}" ] && kill -0 "${pid[$1]}" 2>/dev/null; }

# One event of a worker becomes one line of the timeline.
show() { # MICROSECONDS WHO EVENT TOKEN DETAIL WAY SQLSTATE MESSAGE
  local at who=$2 what said='' colour='' t=$4 text
  at_ms "$1"
  case $3 in
  started) what="starts as process $5" t='' ;;
  granted) what="takes the lease for $5" said=granted token[$who]=$t ;;
  busy) what="takes the lease for $5" said="busy, not granted" colour=$red t='' ;;
  read) what="reads the stock: $5 items" t='' ;;
  accepted | refused)
    what="writes the stock: $5 items"
    said=$3
    [ "$3" = accepted ] || said="refused, $7" colour=$red
    if [ "$6" = "as it should" ]; then answer[$who]=$said; else what="writes $5 items $6" t='' bypass[$who]=$said; fi
    ;;
  released) what="releases the lease" said=$5 released[$who]=$5 ;;
  esac
  # What worker 1 writes after the name was granted to worker 2 is stale: wrong to accept, right to refuse.
  if [ "$who" = "worker 1" ] && [ -n "${token["worker 2"]:-}" ]; then
    case $3 in
    accepted) said="accepted, though stale" colour=$red ;;
    refused) colour=$green ;;
    esac
  fi
  line "$at" "$who" "$what" "$t" "$said" "$colour"
  for text in "${@:8}"; do printf '  %6s  %-8s  %s%s%s\n' '' '' "$dim" "${text#ERROR:  }" "$off"; done
}

# play unfenced|fenced|protected    the row is in FINAL_ITEMS and FINAL_WRITER afterwards
play() {
  fence=$1
  local event at wake_at=0 who message
  pid=() status=() token=() answer=() bypass=() released=()
  zero=0
  query "TRUNCATE stock"
  query "INSERT INTO stock VALUES (1, $start_items, 'nobody')"
  [ "$fence" != protected ] || query "SELECT gatepost.fence_protect('stock', lease => 'stock')" >/dev/null
  exec 3<>"$events"
  exec 5<>"$events.begin"
  start_worker "worker 1" 1 "$lease s" 0 "$events.begin"
  while true; do
    # Workers write whole lines, and a read with a limit can lose the end of one: so it is asked for first.
    if read -r -t 0 -u 3; then
      IFS=$'\t' read -ra event -u 3
      case "${event[1]}/${event[2]}" in
      "worker 1/granted")
        zero=${event[0]}
        [ "$pause_ms" -lt "$lease_ms" ] || start_worker "worker 2" 3 "1 min" $((zero + asks_ms * 1000)) /dev/null
        ;;
      "worker 1/released")
        [ "$pause_ms" -ge "$lease_ms" ] || start_worker "worker 2" 3 "1 min" 0 /dev/null
        ;;
      "worker 1/read")
        kill -STOP "${pid["worker 1"]}"
        echo >&5
        at_ms "${EPOCHREALTIME/./}"
        wake_at=$((${EPOCHREALTIME/./} + pause_ms * 1000))
        ;;
      esac
      show "${event[@]}"
      [ "${event[1]}/${event[2]}" != "worker 1/read" ] || line "$at" demo "stops worker 1 for $pause s (SIGSTOP)"
      continue
    fi
    # Where worker 2 has the lease meanwhile it has done its part, too, however slow the machine is.
    if [ $wake_at -gt 0 ] && [ "${EPOCHREALTIME/./}" -ge $wake_at ] &&
      { [ "$pause_ms" -lt "$lease_ms" ] || ! alive "worker 2"; }; then
      kill -CONT "${pid["worker 1"]}" 2>/dev/null || true
      at_ms "${EPOCHREALTIME/./}"
      line "$at" demo "lets worker 1 go on (SIGCONT)"
      wake_at=0
    elif ! alive "worker 1" && ! alive "worker 2"; then
      break
    fi
    read -r -t 0.01 -u 4 || true
  done
  exec 3>&- 5>&-

  for who in "worker 1" "worker 2"; do
    status[$who]=0
    [ -z "${pid[$who]:-}" ] || wait "${pid[$who]}" 2>/dev/null || status[$who]=$?
    if [ "${status[$who]}" -ne 0 ]; then
      cat "$errors/$who" >&2
      message="ended with status ${status[$who]}"
      [ "${status[$who]}" -le 128 ] || message="was killed by signal $((status[$who] - 128))"
      die "$who $message, so nothing was shown"
    fi
  done
  IFS='|' read -r FINAL_ITEMS FINAL_WRITER <<<"$(query "SELECT items, written_by FROM stock WHERE id = 1")"
  line "" demo "reads the row again: $FINAL_ITEMS items, by $FINAL_WRITER"
}

expect() { # WHAT VALUE EXPECTED
  [ "$2" = "$3" ] && return
  printf '  %sNot as it should be: %s is "%s", expected "%s".%s\n' "$red" "$1" "$2" "$3" "$off"
  exit 1
}
# expect_end ANSWER RELEASED ITEMS WRITER    what became of worker 1's write and lease, and of the row; worker 2 had no trouble
expect_end() {
  expect "the answer to worker 2's write" "${answer["worker 2"]:-none}" accepted
  expect "the answer to worker 2's release" "${released["worker 2"]:-none}" true
  expect "the answer to worker 1's write" "${answer["worker 1"]:-none}" "$1"
  expect "the answer to worker 1's release" "${released["worker 1"]:-none}" "$2"
  expect "the stock" "$FINAL_ITEMS" "$3"
  expect "the last writer" "$FINAL_WRITER" "$4"
}
verdict() { # COLOUR WORD TEXT...
  printf '  %s%s%s' "$1" "$2" "$off"
  printf ' %s\n' "$3"
  [ $# -lt 4 ] || printf '  %s\n' "${@:4}"
}

events=$PGHOST/events errors=$PGHOST/errors
mkfifo "$events" "$events.none" "$events.begin"
# Nobody writes here: a nap without a process.
exec 4<>"$events.none"
mkdir "$errors"
query "CREATE EXTENSION gatepost"
[ -z "$timeline" ] || query "ALTER DATABASE $PGDATABASE SET gatepost.history_retention = '1d'"
query "CREATE TABLE stock (id bigint PRIMARY KEY, items integer NOT NULL, written_by text NOT NULL, fence bigint)"

printf '\n'
printf '%s\n' "Two workers sell from one stock of $start_items items: worker 1 sells 1, worker 2 sells 3. Each takes the lease," \
  "reads the stock, works, writes what is left, and releases. Worker 1 is stopped for $pause s after it has read," \
  "as a garbage collection, a suspended machine or a slow disk would stop it. Its lease is for $lease s, worker 2's is longer."

heading "Without a fence: UPDATE stock SET items = .. WHERE id = 1"
play unfenced
if [ "$pause_ms" -lt "$lease_ms" ]; then
  expect_end accepted true $both "worker 2"
  verdict "$green" "No damage:" "worker 1 was back before its lease had lapsed, so nobody else had been let in meanwhile." \
    "Both sales count. Nothing but the short pause saw to that."
else
  expect_end accepted false $only_first "worker 1"
  verdict "$red" "Damage:" "4 items are sold and the stock says $only_first. Worker 1's late write went over worker 2's sale," \
    "and only its release, too late, told it that the lease had been lost."
fi

heading "With the fence: SELECT gatepost.fenced_update('stock', '{\"id\": 1}', .., token)"
play fenced
if [ "$pause_ms" -lt "$lease_ms" ]; then
  expect_end accepted true $both "worker 2"
  verdict "$green" "No damage:" "the fence had nothing to refuse, since each write came with the newest token."
else
  expect_end "refused, LG001" false $only_second "worker 2"
  verdict "$green" "No damage:" "the row had seen a newer token, so worker 1's late write was refused. Worker 2's sale stands," \
    "and worker 1 has an error to act upon instead of a lost update nobody hears of."
fi

heading "A protected table: fence_protect('stock', lease => 'stock') once; then fence_use('stock', token) and the plain UPDATE"
play protected
if [ "$pause_ms" -lt "$lease_ms" ]; then
  expect_end accepted true $both "worker 2"
  verdict "$green" "No damage:" "each write was made under the newest token."
else
  expect_end "refused, LG001" false $only_second "worker 2"
  expect "the answer to worker 1's write without a token" "${bypass["worker 1"]:-none}" "refused, LG003"
  verdict "$green" "No damage:" "the table itself refuses a late token, and code that never heard of tokens." \
    "One call has protected it, whoever writes and however."
fi
if [ -n "$timeline" ]; then
  "$gatepost" timeline "--${timeline##*.}" "$timeline"
  printf '\n  %s\n' "The timeline has been drawn."
fi
