#!/usr/bin/env bash
# Builds kinds of the module and prints their folders:
#   build.sh KIND...      release | unwoken (for test/bench/idle_release) | test | mutant=NAME | modules (all of test/modules) | modules=MUTANT | client (the C++ side)
#                         | orm (what test/orm needs from npm)
. "$(dirname "$0")/lib.sh"
[ $# -ge 1 ] || die "usage: $0 release|test|mutant=NAME|modules|modules=MUTANT|client|orm..."
server_paths
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
  mutant=?*)
    dir=$BUILDS/mutants/${kind#mutant=}
    with_make "$BUILDS/test" "$HERE/Makefile" GATEPOST_TEST=1
    mkdir -p "$dir"
    cp -Rp "$BUILDS/test/." "$dir/"
    rm -f "$dir/gatepost.so" "$dir/.mutant"
    with_make "$dir" "$HERE/Makefile" GATEPOST_TEST=1 "GATEPOST_MUTANT=${kind#mutant=}"
    say "$dir"
    ;;
  modules | modules=?*)
    mutant=${kind#modules}
    mutant=${mutant#=}
    for makefile in "$HERE"/test/modules/*/Makefile; do
      [ -e "$makefile" ] || continue
      dir=$BUILDS/${mutant:+mutants/$mutant.}modules/$(basename "${makefile%/*}")
      with_make "$dir" "$makefile" ${mutant:+"GATEPOST_MUTANT=$mutant"}
      say "$dir"
    done
    ;;
  client)
    # CMake refuses a cache that came along with a moved folder.
    grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$BUILDS/client/CMakeCache.txt" || rm -rf "$BUILDS/client"
    mkdir -p "$BUILDS/client"
    quietly "$BUILDS/client/configure.log" cmake -S "$HERE" -B "$BUILDS/client" -DCMAKE_BUILD_TYPE=Release
    quietly "$BUILDS/client/build.log" cmake --build "$BUILDS/client" -j 2
    say "$BUILDS/client"
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
