#!/usr/bin/env bash
# Takes long. The demo notices what it has to notice, and leaves nothing behind.
. "$(dirname "$0")/../lib.sh"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
number=0 all_passed=0

# report NAME LOG CONDITION...
report() {
  local name=$1 log=$2
  shift 2
  number=$((number + 1))
  if "$@"; then
    say "ok $number - $name"
  else
    say "not ok $number - $name"
    sed 's/^/#   /' "$log"
    all_passed=1
  fi
}
# demo NAME [VARIABLE=VALUE]...    leaves NAME.log and NAME.status
demo() {
  local name=$1 status=0
  shift
  env "$@" "$HERE/scripts/demo.sh" >"$logs/$name.log" 2>&1 || status=$?
  printf '%s' "$status" >"$logs/$name.status"
}
passed() { [ "$(<"$logs/$1.status")" -eq 0 ]; }
failed() { ! passed "$1"; }
says() { grep -qsE "$2" "$logs/$1.log"; }

demo normal
report "the demo passes" "$logs/normal.log" passed normal
report "... with the damage in the unfenced act" "$logs/normal.log" says normal 'accepted, though stale'
report "... and the refusal in the fenced act" "$logs/normal.log" says normal 'refused, LG001'
report "... and of a write without a token in the protected act" "$logs/normal.log" says normal 'refused, LG003'
report "... and no colour in a file" "$logs/normal.log" eval "! grep -q $'\e' '$logs/normal.log'"

demo short PAUSE=0.8
report "a short pause does no damage" "$logs/short.log" passed short
report "... and the demo says why" "$logs/short.log" says short 'before its lease had lapsed'

# eventually COMMAND...
eventually() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  return 1
}
worker_of() { sed -nE 's/.*worker 1 +starts as process ([0-9]+).*/\1/p' "$logs/$1.log" | head -n 1; }
stopped() { says "$1" 'SIGSTOP'; }

BUILD_KIND=mutant=fenced_update_condition demo unfenced &
demo killed &
BUILD_KIND=mutant=fences_open demo open &
eventually stopped killed && kill -KILL "$(worker_of killed)"
wait
report "a killed worker is noticed" "$logs/killed.log" failed killed
report "... and named" "$logs/killed.log" says killed 'worker 1 was killed by signal 9'
report "a demo without its fence fails" "$logs/unfenced.log" failed unfenced
report "... in the fenced act" "$logs/unfenced.log" says unfenced "worker 1's write is .accepted., expected .refused"
report "a demo whose protection lets in who has no token fails" "$logs/open.log" failed open
report "... in the protected act" "$logs/open.log" says open 'the stock is "9", expected "7"'

# Stopped in the middle, by the signal of Ctrl-C: worker, server and folder go.
set -m
demo stopped &
demo=$!
set +m
eventually stopped stopped
folder=$(dirname "$(readlink "/proc/$(worker_of stopped)/exe")")
# Processes that run from the folder, or on it.
left() { grep -qzsF "$folder" /proc/[0-9]*/cmdline; }
report "a demo runs from a folder of its own" "$logs/stopped.log" left
kill -INT -- "-$demo"
wait "$demo" || true
report "an interrupted demo ends its server and workers" "$logs/stopped.log" eval '! left'
report "... and removes its folder" "$logs/stopped.log" eval '[[ $folder = /tmp/?* ]] && [ ! -e "$folder" ]'
say "1..$number"
exit $all_passed
