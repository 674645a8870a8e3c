# For tests of the command: to be sourced, in a folder of its own, beside a server (scripts/cluster.sh).
# shellcheck shell=bash disable=SC2034
set -u
export LC_ALL=C.UTF-8
number=0 failures=0
HELPERS=${GATEPOST_HELPERS:?}

# is NAME GOT WANTED
is() {
  number=$((number + 1))
  if [ "$2" = "$3" ]; then
    printf 'ok %d - %s\n' $number "$1"
    return
  fi
  failures=$((failures + 1))
  printf 'not ok %d - %s\n' $number "$1"
  printf '#   got:    %s\n' "${2//$'\n'/$'\n#           '}"
  printf '#   wanted: %s\n' "${3//$'\n'/$'\n#           '}"
}
# like NAME GOT REGEX    of bash, over the whole text
like() {
  if [[ $2 =~ $3 ]]; then is "$1" yes yes; else is "$1" "$2" "like $3"; fi
}
# ok NAME COMMAND...
ok() {
  local name=$1
  shift
  if "$@"; then is "$name" yes yes; else is "$name" "status $?" "success of $*"; fi
}
done_testing() {
  printf '1..%d\n' $number
  exit $((failures > 0))
}

# g ARGUMENT...    runs the command; leaves out, err and status
g() {
  status=0
  gatepost "$@" >out.txt 2>err.txt </dev/null || status=$?
  out=$(cat out.txt) err=$(cat err.txt)
}
# now: boot time, in milliseconds, less what is left of the last hundredth of a second
now() {
  local up
  read -r up _ </proc/uptime
  printf '%s' "${up/./}0"
}
query() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
# try_each [NAME]...    the functions try_NAME, without a name all that there are
try_each() {
  local name
  [ $# -gt 0 ] || set -- $(sed -n 's/^try_\([a-z_]*\)() {$/\1/p' "$0")
  for name; do "try_$name"; done
  done_testing
}
# eventually COMMAND...    within a minute, which only a failure takes
eventually() {
  local end=$((SECONDS + ${GATEPOST_PATIENCE:-60}))
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt $end ] || return 1
    sleep 0.05
  done
}
# finish PID    waits for it, no longer than eventually does; leaves status
finish() {
  eventually gone "$1" || kill -KILL "$1"
  status=0
  wait "$1" 2>/dev/null || status=$?
}
gone() { ! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" 2>/dev/null | cut -c1)" = Z ]; }
has_file() { [ -s "$1" ]; }
# As the last commit says: a renewal may be in flight.
free() { [ "$(query "SELECT count(*) FROM gatepost.leases WHERE name = '$1' AND remaining > '0'")" = 0 ]; }
held() { ! free "$1"; }
