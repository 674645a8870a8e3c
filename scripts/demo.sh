#!/usr/bin/env bash
# The paused worker, played with real processes against a private throwaway server.
#   PAUSE=SECONDS   how long worker 1 is stopped (1.5)
#   LEASE=SECONDS   how long its lease lasts (1)
#   TIMELINE=FILE   draws who held what when, .svg or .html
#   BUILD_KIND      another build of the module, for the test that a demo without a fence is noticed (by GATEPOST_MUTANT)
. "$(dirname "$0")/lib.sh"
pause=${PAUSE:-1.5} lease=${LEASE:-1}
[[ $pause =~ ^[0-9]+(\.[0-9]{1,3})?$ ]] || die "PAUSE is a number of seconds, such as 0.8"
[[ $lease =~ ^[1-9][0-9]*$ ]] || die "LEASE is a number of whole seconds, such as 1"
# Nearer to the end of the lease it is the machine's load that decides what happens.
awk -v s="$pause" -v l="$lease" 'BEGIN { exit !(s <= l - 0.15 || s >= l + 0.4) }' ||
  die "PAUSE has to be at most $((lease - 1)).85 or at least $lease.4"
kind=${BUILD_KIND:-release}
timeline=${TIMELINE:-}
[[ $timeline =~ ^$|\.(svg|html)$ ]] || die "TIMELINE is the name of a file that ends in .svg or .html"
[ -z "$timeline" ] || { : >"$timeline"; } 2>/dev/null || die "cannot write $timeline"
colour=no
[ ! -t 1 ] || [ -n "${NO_COLOR:-}" ] || [ "${TERM:-dumb}" = dumb ] || colour=yes

# step TEXT COMMAND...    on a terminal the seconds run while one waits
step() {
  local text=$1 started=$EPOCHREALTIME status=0
  shift
  start_group "$@" >"$WORK/step.log" 2>&1
  if [ -t 1 ]; then
    while kill -0 "$GROUP" 2>/dev/null; do
      printf '\r  %-42s %6s s ' "$text" "$(seconds_since "$started")"
      sleep 0.1
    done
    printf '\r'
  fi
  wait "$GROUP" || status=$?
  if [ $status -ne 0 ]; then
    printf '  %-42s failed\n' "$text"
    cat "$WORK/step.log" >&2
    exit 1
  fi
  printf '  %-42s %6s s\n' "$text" "$(seconds_since "$started")"
}

# long FILE    says that the next step takes its time, as long as what it makes is not there
long() { [ -e "$1" ] || say "  the first time this may take a minute or two:"; }

"$HERE/scripts/setup.sh"
server_paths
make_work
prepare_root() {
  "$HERE/scripts/private_root.sh" "$WORK/root" "$1"
  cp "$BUILDS/client/cpp-client/paused_worker" "$WORK/"
  [ -z "$timeline" ] || cp "$BUILDS/client/cpp-client/cli/gatepost" "$WORK/"
  give_work
}
say "Preparing, for $PG_VERSION"
long "$BUILDS/$kind/gatepost.so"
step "building the extension" "$HERE/scripts/build.sh" "$kind"
long "$BUILDS/client/cpp-client/paused_worker"
step "building the worker" "$HERE/scripts/build.sh" worker
if [ -n "$timeline" ]; then
  long "$BUILDS/client/cpp-client/cli/gatepost"
  step "building the command, which draws" "$HERE/scripts/build.sh" command
fi
step "laying out a private server" prepare_root "$BUILDS/$kind"
run_group as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -- \
  "$WORK/tree/scripts/demo_play.sh" "$WORK/paused_worker" "$pause" "$lease" "$colour" ${timeline:+"$WORK/gatepost" "$WORK/tmp/timeline.${timeline##*.}"}
[ -z "$timeline" ] || cat "$WORK/tmp/timeline.${timeline##*.}" >"$timeline"
