#!/usr/bin/env bash
# Builds kinds of the module and prints their folders:
#   build.sh KIND...      release | unwoken (for test/bench/idle_release) | test | modules (all of test/modules) | client (the C++ side)
#                         | worker (of it, the demo's) | command (of it, gatepost) | orm (what test/orm needs from npm)
. "$(dirname "$0")/lib.sh"
[ $# -ge 1 ] || die "usage: $0 release|test|modules|client|worker|command|orm..."
server_paths
# What root builds in somebody's folder is that user's, who will build there next.
trap '[ "$(id -u)" -ne 0 ] || [ "$(stat -c %u "$HERE")" -eq 0 ] || chown -R --reference="$HERE" "$HERE/build"' EXIT
lock_builds

# quietly LOG COMMAND...    the command's output is shown only when it fails
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { cat "$log" >&2 && die "the build of $kind failed"; }
}

# with_make DIR MAKEFILE [VARIABLE=VALUE]...    the file make.args lets private_root.sh install it
with_make() {
  local dir=$1
  mkdir -p "$dir"
  # Two builds of one folder at once would hand out a half-made library.
  exec 9>"$dir/.lock"
  flock 9
  printf '%s\n' -f "$2" "VPATH=${2%/*}" BUILD= "PG_CONFIG=$PG_CONFIG" "${@:3}" >"$dir/make.args"
  mapfile -t args <"$dir/make.args"
  quietly "$dir/make.log" make --no-print-directory -j2 -C "$dir" "${args[@]}" all
}
# with_cmake TARGET [CMAKE-OPTION]...    of the C++ side, all in one folder
with_cmake() {
  local dir=$BUILDS/client
  # CMake refuses a cache that came along with a moved folder.
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$dir/CMakeCache.txt" || rm -rf "$dir"
  mkdir -p "$dir"
  quietly "$dir/configure.log" cmake -S "$HERE" -B "$dir" -DCMAKE_BUILD_TYPE=Release -DGATEPOST_BUILD_TESTS=OFF "${@:2}"
  quietly "$dir/build.log" cmake --build "$dir" -j 2 --target "$1"
  say "$dir"
}

for kind; do
  case $kind in
  release)
    with_make "$BUILDS/release" "$HERE/Makefile"
    say "$BUILDS/release"
    ;;
  unwoken)
    with_make "$BUILDS/release" "$HERE/Makefile"
    mkdir -p "$BUILDS/unwoken"
    cp -Rp "$BUILDS/release/." "$BUILDS/unwoken/"
    rm -f "$BUILDS/unwoken/gatepost.so" "$BUILDS/unwoken/src/waiters.o"
    with_make "$BUILDS/unwoken" "$HERE/Makefile" GATEPOST_UNWOKEN=1
    say "$BUILDS/unwoken"
    ;;
  test)
    with_make "$BUILDS/test" "$HERE/Makefile" GATEPOST_TEST=1
    say "$BUILDS/test"
    ;;
  modules)
    for makefile in "$HERE"/test/modules/*/Makefile; do
      [ -e "$makefile" ] || continue
      dir=$BUILDS/modules/$(basename "${makefile%/*}")
      with_make "$dir" "$makefile"
      say "$dir"
    done
    ;;
  client)
    with_cmake all -DGATEPOST_WERROR=ON
    ;;
  worker)
    with_cmake paused_worker
    ;;
  command)
    with_cmake gatepost_command
    ;;
  orm)
    # The same for every server, and kept until the list changes: it comes over the network.
    dir=$HERE/build/orm
    mkdir -p "$dir"
    exec 9>"$dir/.lock"
    flock 9
    if ! cmp -s "$HERE/test/orm/package-lock.json" "$dir/installed"; then
      rm -f "$dir/installed"
      cp "$HERE"/test/orm/package{,-lock}.json "$dir/"
      quietly "$dir/npm.log" npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-update-notifier \
        --prefer-offline --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000
      cp "$HERE/test/orm/package-lock.json" "$dir/installed"
    fi
    say "$dir/node_modules"
    ;;
  *) die "no such kind of build: $kind" ;;
  esac
done
