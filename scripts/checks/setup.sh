#!/usr/bin/env bash
# TAP: scripts/setup.sh says what is missing and what to do, and as root, where there is apt, does it. A copy of it with lists
# of its own, and a PATH without the system's commands but for a few.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/scripts" "$made/bin" "$made/apt" "$made/there"
cp "$here/setup.sh" "$here/lib.sh" "$made/scripts"
for command in bash cat dirname grep head mktemp rm sed touch; do ln -s "$(command -v $command)" "$made/bin/"; done

list() { # LIST NAME...    packages that are there when a file of their name is
  local name
  echo '# a comment, and an empty line' >"$made/scripts/$1"
  echo >>"$made/scripts/$1"
  for name in "${@:2}"; do echo "$name  test -e '$made/there/$name'"; done >>"$made/scripts/$1"
}
command_of() { # FOLDER NAME LINE...
  printf '%s\n' '#!/usr/bin/env bash' "${@:3}" >"$made/$1/$2"
  sed -i "1s|.*|#!$made/bin/bash|" "$made/$1/$2"
  chmod +x "$made/$1/$2"
}
# shellcheck disable=SC2016
command_of bin id 'echo "${FAKE_UID:-1000}"'
# Notes how it is called, and installs by touching the package's file, without the major version.
# shellcheck disable=SC2016
command_of apt apt-get 'echo "$*" >>'"'$made/calls'" '[ "$1" = install ] && [ -z "${FAKE_IN_VAIN:-}" ] || exit 0' \
  'for name; do case $name in *-17) touch '"'$made/there/'"'"${name%-17}-N" ;; -* | install) ;; *) touch '"'$made/there/'"'"$name" ;; esac; done'
# shellcheck disable=SC2016
command_of apt apt-cache 'echo "  Depends: postgresql-17"'

n=0 failed=0
result() { # STATUS TEXT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then printf 'ok %d - %s\n' $n "$2"; else printf 'not ok %d - %s\n' $n "$2" && failed=1; fi
}
is() { # TEXT GOT WANTED
  local status=0
  if [ "$2" != "$3" ]; then
    status=1
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed 's/^/# /' || true
  fi
  result $status "$1"
}
setup() { # PATH [VARIABLE=VALUE]... -- [LIST]...    sets status and out
  local path=$1 variables=()
  shift
  while [ "$1" != -- ]; do variables+=("$1") && shift; done
  shift
  : >"$made/calls"
  status=0
  out=$(env -i PATH="$path" PG_CONFIG=/nowhere/pg_config "${variables[@]}" "$made/bin/bash" "$made/scripts/setup.sh" "$@" 2>&1) || status=$?
}

list packages here server-N
list packages.more more
touch "$made/there/here" "$made/there/server-N" "$made/there/more"
setup "$made/bin:$made/apt" -- packages.more
is 'nothing is missing: nothing is said or done' "$status$out$(cat "$made/calls")" 0

rm "$made/there/server-N" "$made/there/more"
setup "$made/bin" -- packages.more
is 'without apt: the names' "$status $out" "1 These are missing; the names are Debian's, N is the major version of PostgreSQL, 15 to 18:
  server-N
  more
setup.sh: install what your system calls them, then try again"
setup "$made/bin" --
is '... of the lists that are asked for' "$out" "These are missing; the names are Debian's, N is the major version of PostgreSQL, 15 to 18:
  server-N
setup.sh: install what your system calls them, then try again"

setup "$made/bin:$made/apt" PG_CONFIG=/usr/lib/postgresql/16/bin/pg_config -- packages.more
is 'without root: one line to run' "$status $out" "1 Some packages are missing. This line, run as root, installs them:
  apt-get update && apt-get install -y --no-install-recommends server-16 more"
is '... and nothing is done' "$(cat "$made/calls")" ''

setup "$made/bin:$made/apt" FAKE_UID=0 FAKE_IN_VAIN=1 PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config -- packages.more
is 'as root, in vain: what is still missing' "$status ${out##*$'\n'}" '1 setup.sh: still missing after the installation: server-N more'
setup "$made/bin:$made/apt" FAKE_UID=0 PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config -- packages.more
is 'as root: they are installed' "$status $(cat "$made/calls")" '0 update
install -y --no-install-recommends server-17 more'
setup "$made/bin:$made/apt" FAKE_UID=0 -- packages.more
is '... and then there' "$status$out" 0
echo "1..$n"
exit $failed
