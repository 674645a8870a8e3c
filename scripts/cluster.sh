#!/usr/bin/env bash
# Runs a command beside a throwaway cluster, which is stopped and removed when the command ends, also by a signal:
#   cluster.sh ROOT DIR [-c name=value]... -- COMMAND [ARG]...
# ROOT is a private root, DIR a folder to be made. The command finds the server by PGHOST, its programs first in PATH.
# To be run by the user who may run servers. Can be sourced for cluster_start and cluster_stop.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
server_paths

# What initdb makes. Who starts many clusters one after the other names a folder by GATEPOST_TEMPLATES, where it is kept and
# copied from.
make_data() {
  local template=${GATEPOST_TEMPLATES:+$GATEPOST_TEMPLATES/cluster}
  [ -d "${template:-$1}" ] ||
    initdb --no-sync --no-locale -E UTF8 -A trust -U postgres -D "${template:-$1}" || return 1
  [ -z "$template" ] || cp -RPp "$template" "$1"
}

# cluster_start ROOT DIR [-c name=value]...    only a unix socket, in DIR; fsync stays on, since flushes are counted
cluster_start() {
  local root=$1
  CLUSTER=$2
  shift 2
  mkdir -p "$CLUSTER"
  export PATH="$root$PG_BIN:$PATH" PGHOST="$CLUSTER" PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
  unset PGOPTIONS PGSERVICE PGSERVICEFILE PGHOSTADDR PGDATA PGPASSFILE
  make_data "$CLUSTER/data" >"$CLUSTER/initdb.log" 2>&1 || { cat "$CLUSTER/initdb.log" >&2 && die "initdb failed"; }
  {
    say "listen_addresses = ''"
    say "unix_socket_directories = '$CLUSTER'"
    say "max_prepared_transactions = 10"
    say "log_line_prefix = '%m [%p] %q%a '"
    while [ "${1:-}" = -c ]; do
      say "${2%%=*} = '${2#*=}'"
      shift 2
    done
  } >>"$CLUSTER/data/postgresql.conf"
  pg_ctl -D "$CLUSTER/data" -w -t 180 -l "$CLUSTER/server.log" start >"$CLUSTER/start.log" 2>&1 ||
    { cat "$CLUSTER/start.log" "$CLUSTER/server.log" >&2 && die "the server does not start"; }
}

cluster_stop() {
  [ -n "${CLUSTER:-}" ] || return 0
  pg_ctl -D "$CLUSTER/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$CLUSTER/data"
}

# To be trapped on EXIT by whoever has called cluster_start.
end_cluster() {
  trap - EXIT
  trap '' INT TERM HUP
  [ ${#RUNNING[@]} -eq 0 ] || end_groups "${RUNNING[@]}"
  cluster_stop
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

[ $# -ge 4 ] || die "usage: $0 ROOT DIR [-c name=value]... -- COMMAND [ARG]..."
options=("$1" "$2")
shift 2
while [ "$1" = -c ]; do
  options+=("$1" "$2")
  shift 2
done
[ "$1" = -- ] || die "expected -- and a command, not $1"
shift
trap end_cluster EXIT
exit_on_signals
cluster_start "${options[@]}"
run_group "$@"
