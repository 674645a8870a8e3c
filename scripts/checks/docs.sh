#!/usr/bin/env bash
# Takes long. TAP: README.md and docs/ say what is so.
#   static.pl    SQLSTATEs, settings, links, files and mutants that are named
#   examples.pl  every example runs, and prints what it is shown to print
#   grants.pl    each function is in one of the two lists of rights, which give what they should and no more, and are what
#                grant_user and grant_administrator grant
. "$(dirname "$0")/../lib.sh"
server_paths
cd "$HERE"

parts() {
  local status=0 build
  perl scripts/checks/docs/static.pl "$("$PG_CONFIG" --includedir-server)/utils/errcodes.h" || status=1
  build=$(scripts/build.sh release) || return 1
  scripts/private_root.sh "$WORK/root" "$build" || return 1
  give_work
  # shellcheck disable=SC2016
  as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -- bash -c '
    cd "$1" && status=0
    perl scripts/checks/docs/examples.pl README.md docs/*.md || status=1
    perl scripts/checks/docs/grants.pl docs/reference.md || status=1
    exit $status' bash "$WORK/tree" || status=1
  return $status
}

make_work
set +e
parts | awk '/^(not )?ok - / { sub(/ok - /, "ok " ++n " - ") } { print } END { print "1.." n + 0 }'
exit "${PIPESTATUS[0]}"
