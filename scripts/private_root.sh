#!/usr/bin/env bash
# A private copy of the PostgreSQL installation that PG_CONFIG names, with our builds installed into it:
#   private_root.sh ROOT BUILD...      BUILD: a folder made by build.sh
# The server finds its libraries and files relative to its own program, so a copied program with the folders around it
# laid out as in the original runs from anywhere; the original is read, never written.
. "$(dirname "$0")/lib.sh"
[ $# -ge 1 ] || die "usage: $0 ROOT BUILD..."
server_paths
root=$1
shift

mkdir -p "$root$PG_BIN" "$root$PG_LIB" "$root$PG_SHARE/extension"
# Programs are copied, since a link would be followed back to the original; all else is linked.
for program in postgres initdb pg_ctl pg_config psql pgbench pg_dump pg_dumpall pg_restore pg_basebackup pg_controldata \
  pg_isready pg_rewind pg_resetwal pg_upgrade pg_waldump createdb dropdb pg_receivewal pg_verifybackup pg_checksums \
  pg_recvlogical vacuumdb reindexdb pg_combinebackup pg_createsubscriber pg_walsummary; do
  [ ! -x "$PG_BIN/$program" ] || cp "$PG_BIN/$program" "$root$PG_BIN/"
done
ln -s -t "$root$PG_LIB" "$PG_LIB"/*
for entry in "$PG_SHARE"/*; do
  [ "${entry##*/}" = extension ] || ln -s -t "$root$PG_SHARE" "$entry"
done
ln -s -t "$root$PG_SHARE/extension" "$PG_SHARE/extension"/*
# An installation of gatepost on this machine must not shine through.
rm -f "$root$PG_LIB"/gatepost.so "$root$PG_SHARE"/extension/gatepost{.control,--*.sql}

for build; do
  # As build.sh does: another build of this folder would leave a half-made library to install.
  exec 9>"$build/.lock"
  flock 9
  mapfile -t args <"$build/make.args"
  make --no-print-directory -s -C "$build" "${args[@]}" DESTDIR="$root" install >/dev/null
done
