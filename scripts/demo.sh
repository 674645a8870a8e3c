#!/usr/bin/env bash
# The paused worker, played with real processes against a private throwaway server.
#   PAUSE=SECONDS   how long worker 1 is stopped (1.5); its lease lasts 1 s
#   BUILD_KIND      another build of the module, for the test that a demo without a fence is noticed
. "$(dirname "$0")/lib.sh"
pause=${PAUSE:-1.5}
[[ $pause =~ ^[0-9]+(\.[0-9]{1,3})?$ ]] || die "PAUSE is a number of seconds, such as 0.8"
# Nearer to the end of the lease it is the machine's load that decides what happens.
awk -v s="$pause" 'BEGIN { exit !(s <= 0.85 || s >= 1.4) }' || die "PAUSE has to be at most 0.85 or at least 1.4"
kind=${BUILD_KIND:-release}
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

"$HERE/scripts/setup.sh"
server_paths
make_work
prepare_root() {
  "$HERE/scripts/private_root.sh" "$WORK/root" "$1"
  cp "$BUILDS/client/cpp-client/paused_worker" "$WORK/"
  give_work
}
say "Preparing, for $PG_VERSION"
step "building the extension" "$HERE/scripts/build.sh" "$kind"
step "building the worker" "$HERE/scripts/build.sh" client
step "laying out a private server" prepare_root "$BUILDS/${kind/#mutant=/mutants/}"
run_group as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -- \
  "$WORK/tree/scripts/demo_play.sh" "$WORK/paused_worker" "$pause" "$colour"
