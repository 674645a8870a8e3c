#!/usr/bin/env bash
# Sees to it that all of scripts/packages is there, and of another list that is named:
#   setup.sh [LIST]...    packages.check
# Installs what is missing, as root, where there is apt; says what to do elsewhere. Silent when nothing is missing.
. "$(dirname "$0")/lib.sh"
lists=("$HERE/scripts/packages" "${@/#/$HERE/scripts/}")

look_for_missing() {
  missing=()
  local package probe
  while read -r package probe; do
    case $package in '' | '#'*) continue ;; esac
    (eval "$probe") >/dev/null 2>&1 || missing+=("$package")
  done < <(cat "${lists[@]}")
}

# The major version to install for: that of the pg_config that is asked for, of a development package or a server that is
# here, or what the system offers.
server_major() {
  local major
  if [[ $PG_CONFIG =~ /postgresql/([0-9]+)/bin/pg_config$ ]]; then
    say "${BASH_REMATCH[1]}"
    return
  fi
  if [ -e "$("$PG_CONFIG" --includedir-server 2>/dev/null)/postgres.h" ]; then
    server_paths
    say "$PG_MAJOR"
    return
  fi
  for major in 18 17 16 15; do
    [ ! -x "/usr/lib/postgresql/$major/bin/initdb" ] || { say "$major" && return; }
  done
  apt-cache depends postgresql 2>/dev/null | sed -nE 's/.* postgresql-([0-9]+)$/\1/p' | head -n 1
}

look_for_missing
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  say "These are missing; the names are Debian's, N is the major version of PostgreSQL, 15 to 18:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  die "install what your system calls them, then try again"
fi
major=$(server_major)
if [ "$(id -u)" -ne 0 ]; then
  names=$(printf ' %s' "${missing[@]}")
  say "Some packages are missing. This line, run as root, installs them:" >&2
  say "  apt-get update && apt-get install -y --no-install-recommends${names//-N/-${major:-15}}" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run_apt() { DEBIAN_FRONTEND=noninteractive apt-get "$@" >"$log" 2>&1 || { cat "$log" >&2 && die "apt-get $1 failed"; }; }
say "Some packages are missing. Looking up what the system offers ..."
run_apt update
major=$(server_major)
[ -n "$major" ] || die "this system offers no PostgreSQL server package"
missing=("${missing[@]/%-N/-$major}")
say "Installing ${missing[*]} ..."
run_apt install -y --no-install-recommends "${missing[@]}"

PG_CONFIG=$(command -v "$PG_CONFIG" || command -v pg_config || say "$PG_CONFIG")
look_for_missing
[ ${#missing[@]} -eq 0 ] || die "still missing after the installation: ${missing[*]}"
