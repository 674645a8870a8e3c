# Shared by the scripts: messages, the server's paths, the user who runs servers, and cleaning up. To be sourced.
# shellcheck shell=bash disable=SC2034

set -euo pipefail
export LC_ALL=C

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Absolute, since a private root with a pg_config of its own comes first in PATH later.
PG_CONFIG=${PG_CONFIG:-pg_config}
PG_CONFIG=$(command -v "$PG_CONFIG" || printf %s "$PG_CONFIG")
export PG_CONFIG
# Servers and tests run as this user when the script is started as root.
SERVER_USER=${GATEPOST_USER:-postgres}

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# Seconds since the given EPOCHREALTIME, with one decimal.
seconds_since() {
  local tenths=$(((${EPOCHREALTIME/./} - ${1/./}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# The paths of the server that PG_CONFIG names.
server_paths() {
  local paths
  paths=$("$PG_CONFIG" --bindir --pkglibdir --sharedir --pgxs --version) || die "cannot run $PG_CONFIG"
  { read -r PG_BIN && read -r PG_LIB && read -r PG_SHARE && read -r PGXS && read -r PG_VERSION; } <<<"$paths"
  PG_MAJOR=${PG_VERSION#PostgreSQL }
  PG_MAJOR=${PG_MAJOR%%[!0-9]*}
  # The test drivers and Perl modules of the server lie beside PGXS.
  PG_TEST=${PGXS%/makefiles/pgxs.mk}/test
  BUILDS=$HERE/build/$PG_MAJOR
}

# One at a time builds, so that two checks in one folder do not meet half-built files. Ends with the script, or where a
# build's own lock takes its place.
lock_builds() {
  mkdir -p "$BUILDS" && [ -w "$BUILDS" ] && { [ ! -e "$BUILDS/lock" ] || [ -w "$BUILDS/lock" ]; } ||
    die "$HERE/build is not to be written to: remove it, or run this as the user who owns it"
  exec 9>"$BUILDS/lock"
  flock 9
}

# Servers refuse to run as root. setpriv stays no process of its own, so signals go where they are sent. That user may
# not be allowed where the script was started.
as_server() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid "$SERVER_USER" --regid "$(id -g "$SERVER_USER")" --clear-groups --inh-caps=-all \
      env -C / HOME="$WORK" TMPDIR="$WORK/tmp" "$@"
  else
    env -C / TMPDIR="$WORK/tmp" "$@"
  fi
}

# WORK becomes a new folder that the server's user owns, gone when the script ends.
# It is in /tmp because the path of a unix socket must be short.
make_work() {
  WORK=$(mktemp -d /tmp/gatepost.XXXXXX)
  trap end_work EXIT
  exit_on_signals
  chmod 755 "$WORK"
  mkdir "$WORK/tree" "$WORK/tmp"
  (cd "$HERE" && for part in scripts test expected docs README.md; do [ ! -e "$part" ] || cp -R "$part" "$WORK/tree/"; done)
  give_work
}
give_work() { [ "$(id -u)" -ne 0 ] || chown -R "$SERVER_USER:" "$WORK"; }

# Takes along what test/orm needs from npm. Where it is not to be had, that test fails and nothing else does.
take_node_packages() {
  local packages
  packages=$("$HERE/scripts/build.sh" orm) || return 0
  mkdir -p "$WORK/tree/build/orm"
  cp -R "$packages" "$WORK/tree/build/orm/"
}

exit_on_signals() {
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

RUNNING=()
end_work() {
  trap - EXIT
  trap '' INT TERM HUP
  [ ${#RUNNING[@]} -eq 0 ] || end_groups "${RUNNING[@]}"
  end_servers "$WORK"
  rm -rf "$WORK"
}
# Servers leave the process group of whoever started them.
end_servers() {
  local pid_file
  while read -r pid_file; do
    as_server "$PG_BIN/pg_ctl" -D "${pid_file%/*}" -m immediate -w stop >/dev/null 2>&1 || true
  done < <(find "$1" -name postmaster.pid 2>/dev/null)
}

knows_mutant() { grep -qF "mutant(\"$1\")" "$HERE"/src/*; }

# Starts a command in a process group of its own: GROUP is its leader, and end_work ends what is left of it.
start_group() {
  set -m
  "$@" &
  GROUP=$!
  set +m
  RUNNING+=("$GROUP")
}

# The same, and waits for it; a signal is acted upon at once.
run_group() {
  start_group "$@"
  wait "$GROUP"
}

# Ends process groups: politely, then not. A stopped process has to be woken to hear it.
end_groups() {
  local group left tries
  for group; do kill -TERM -- "-$group" && kill -CONT -- "-$group"; done 2>/dev/null || true
  for ((tries = 0; tries < 100; tries++)); do
    left=0
    for group; do ! kill -0 -- "-$group" 2>/dev/null || left=1; done
    [ $left -eq 1 ] || return 0
    sleep 0.1
  done
  for group; do kill -KILL -- "-$group"; done 2>/dev/null || true
}

# counted COMMAND...    its last line that counts says how many passed and failed; one that says nothing has failed
COUNTED=(0 0)
counted() {
  local log more less
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || true
  read -r more less <<<"$(sed -nE 's/.*\b([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$log" | tail -n 1)"
  COUNTED=($((COUNTED[0] + ${more:-0})) $((COUNTED[1] + ${less:-1})))
  rm -f "$log"
}
say_counted() {
  say "${COUNTED[0]} passed, ${COUNTED[1]} failed"
  [ "${COUNTED[1]}" -eq 0 ]
}
