#!/usr/bin/env bash
# The check on another system: a folder with Debian 13 (PostgreSQL 17), made when it is not there, kept for the next time.
# It has the server of Debian 12 too (PostgreSQL 15), which upgrades begin from.
#   check_matrix.sh [COMMAND...]      the command, run there in a copy of this project; make check when none is given
#   GATEPOST_MATRIX_SUITE=SUITE       another release of Debian than trixie: sid has PostgreSQL 18, as long as it is unreleased
#   GATEPOST_MATRIX=DIR               the folder (/var/tmp/gatepost-SUITE)
# Needs root. What is mounted for it ends with the command, and so does every process started there.
. "$(dirname "$0")/lib.sh"
suite=${GATEPOST_MATRIX_SUITE:-trixie}
folder=${GATEPOST_MATRIX:-/var/tmp/gatepost-$suite}
older_suite=bookworm
older_pg_config=/usr/lib/postgresql/15/bin/pg_config
[ "$(id -u)" -eq 0 ] || die "a system in a folder can be made and entered by root only"
[ $# -gt 0 ] || set -- make check

# The mirror this system itself installs from. Its apt may have files of one kind only, or of both.
mirror() {
  { cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | sed -nE 's/^URIs: *([^ ]+).*/\1/p'
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
    sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+).*/\2/p'
}

make_folder() {
  if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || die "debootstrap is not there"
    say "Installing debootstrap ..."
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
  fi
  say "Making $folder with Debian $suite ..."
  rm -rf --one-file-system "$folder.part"
  debootstrap --variant=minbase --include=make,ca-certificates "$suite" "$folder.part" "$url" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log" >&2 && die "debootstrap failed"; }
  # Packages must neither start servers nor make clusters.
  printf '#!/bin/sh\nexit 101\n' >"$folder.part/usr/sbin/policy-rc.d"
  chmod +x "$folder.part/usr/sbin/policy-rc.d"
  mkdir -p "$folder.part/etc/postgresql-common"
  say "create_main_cluster = false" >"$folder.part/etc/postgresql-common/createcluster.conf"
  say 'DPkg::Options { "--force-confold"; };' >"$folder.part/etc/apt/apt.conf.d/90keep"
  # The same way to the mirror as here.
  cp /etc/apt/apt.conf.d/* "$folder.part/etc/apt/apt.conf.d/" 2>/dev/null || true
  say "127.0.0.1 localhost" >"$folder.part/etc/hosts"
  mv "$folder.part" "$folder"
}
url=$(mirror | grep -v security | head -n 1)
[ -n "$url" ] || die "apt's sources name no mirror"
# One at a time: the copy of the project is made anew. Held until the command ends.
exec 8>"$folder.lock"
flock -n 8 || { say "Waiting for another check in $folder ..." && flock 8; }
[ -e "$folder/etc/debian_version" ] || make_folder
# Only what the newer one has not comes from the older one.
say "deb $url $older_suite main" >"$folder/etc/apt/sources.list.d/older.list"
printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n' "$older_suite" >"$folder/etc/apt/preferences.d/older"
[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$folder/etc/resolv.conf"

# A fresh copy of the project; its builds there stay. A file that has not changed keeps its time there, and any other is new,
# so that make finds what to build whatever the times are here.
project=$folder/srv/gatepost
fresh=$folder/srv/gatepost.fresh
rm -rf "$fresh"
mkdir -p "$project" "$fresh"
tar -C "$HERE" --exclude=./build --exclude=./.git --exclude='*.o' --exclude='*.so' -cf - . |
  tar -C "$fresh" --no-same-owner --touch -xf -
# shellcheck disable=SC2016
(cd "$fresh" && find . -type f -exec sh -c '
  for file; do ! cmp -s "$file" "$0/$file" || touch -r "$0/$file" "$file"; done' "$project" {} +)
[ ! -d "$project/build" ] || mv "$project/build" "$fresh/"
# What comes from npm is the same everywhere, and the way to its registry may be known here only.
if [[ "$*" != *quick* ]] && command -v npm >/dev/null; then
  "$HERE/scripts/build.sh" orm >/dev/null || say "npm's packages are not to be had here"
fi
if [ -e "$HERE/build/orm/installed" ]; then
  mkdir -p "$fresh/build"
  rm -rf "$fresh/build/orm"
  cp -R "$HERE/build/orm" "$fresh/build/"
fi
rm -rf "$project"
mv "$fresh" "$project"

say "Running $* with Debian $(<"$folder/etc/debian_version")"
# shellcheck disable=SC2016
exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc="$folder/proc" sh -c '
  folder=$1
  older=$2
  shift 2
  mount --rbind /dev "$folder/dev"
  exec chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM="${TERM:-dumb}" \
    GATEPOST_OLD_PG_CONFIG="$older" \
    sh -ec "cd /srv/gatepost; scripts/setup.sh; PG_CONFIG=$older scripts/setup.sh; exec \"\$@\"" sh "$@"
' sh "$folder" "$older_pg_config" "$@"
