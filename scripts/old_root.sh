#!/usr/bin/env bash
# A private copy of the installation that upgrades begin from, GATEPOST_OLD_PG_CONFIG, with a build of ours in it:
#   old_root.sh ROOT release|test
# Prints the folder in ROOT that has bin and lib, as the tests want it in GATEPOST_UPGRADE_FROM.
. "$(dirname "$0")/lib.sh"
[ $# -eq 2 ] || die "usage: $0 ROOT release|test"
export PG_CONFIG=${GATEPOST_OLD_PG_CONFIG:?}
server_paths
build=$("$HERE/scripts/build.sh" "$2")
"$HERE/scripts/private_root.sh" "$1" "$build"
say "$1${PG_BIN%/bin}"
