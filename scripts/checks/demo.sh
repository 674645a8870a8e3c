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
# demo NAME [VARIABLE=VALUE]...    leaves NAME.log and NAME.status. What a shell starts in the background ignores Ctrl-C, and
# so would the demo of a check that is started there.
demo() {
  local name=$1 status=0
  shift
  env --default-signal=INT "$@" "$HERE/scripts/demo.sh" >"$logs/$name.log" 2>&1 || status=$?
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

demo short PAUSE=0.8 LEASE=10 TIMELINE="$logs/short.svg"
report "a short pause does no damage" "$logs/short.log" passed short
report "... and the demo says why" "$logs/short.log" says short 'before its lease had lapsed'
report "... and draws it" "$logs/short.log" grep -qs '</svg>' "$logs/short.svg"
demo nowhere TIMELINE="$logs/nowhere/demo.svg"
report "a drawing that cannot be written is refused" "$logs/nowhere.log" failed nowhere
report "... in one line" "$logs/nowhere.log" eval '[ "$(<"$logs/nowhere.log")" = "demo.sh: cannot write $logs/nowhere/demo.svg" ]'

# on_terminal NAME [VARIABLE=VALUE]...    as demo, before a terminal
on_terminal() {
  local name=$1 status=0
  env TERM=xterm PAUSE=0.8 LEASE=10 "${@:2}" script -qec "'$HERE/scripts/demo.sh'" /dev/null </dev/null >"$logs/$name.log" 2>&1 || status=$?
  printf '%s' "$status" >"$logs/$name.status"
}
on_terminal coloured NO_COLOR= &
on_terminal plain NO_COLOR=1 &
wait
report "the demo passes on a terminal" "$logs/coloured.log" passed coloured
report "... in colour" "$logs/coloured.log" grep -q $'\e\\[1;32m' "$logs/coloured.log"
report "... but not with NO_COLOR" "$logs/plain.log" eval "passed plain && ! grep -qE \$'\e''\\[[0-9;]+m' '$logs/plain.log'"

# eventually COMMAND...    within some minutes, which only a failure takes
eventually() {
  local tries
  for ((tries = 0; tries < 3000; tries++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  return 1
}
worker_of() { sed -nE 's/.*worker 1 +starts as process ([0-9]+).*/\1/p' "$logs/$1.log" | head -n 1; }
stopped() { says "$1" 'SIGSTOP'; }

demo unfenced BUILD_KIND=test GATEPOST_MUTANT=fenced_update_condition &
demo killed PAUSE=600 &
demo open BUILD_KIND=test GATEPOST_MUTANT=fences_open &
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
demo stopped PAUSE=600 &
demo=$!
set +m
eventually stopped stopped
folder=$(dirname "$(readlink "/proc/$(worker_of stopped)/exe")")
# Processes that run from the folder, or on it.
left() { grep -qzsF "$folder" /proc/[0-9]*/cmdline; }
report "a demo runs from a folder of its own" "$logs/stopped.log" left
kill -INT -- "-$demo"
wait "$demo" || true
report "an interrupted demo fails" "$logs/stopped.log" failed stopped
report "... and ends its server and workers" "$logs/stopped.log" eval '! left'
report "... and removes its folder" "$logs/stopped.log" eval '[[ $folder = /tmp/?* ]] && [ ! -e "$folder" ]'
say "1..$number"
exit $all_passed
