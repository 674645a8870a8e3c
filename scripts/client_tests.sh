#!/usr/bin/env bash
# The tests of the C++ client against a throwaway server of the release build; TAP-like lines, and then "N passed, N failed":
#   client_tests.sh [PART]...     suite, address, thread, pause, examples, packages, clang; all of them without a name
#   GATEPOST_PAUSES=300           random pauses of the pause test
#   GATEPOST_ROUNDS=200           rounds a thread of the concurrent tests
#   GATEPOST_FILTER='*'           only these tests of the suite
. "$(dirname "$0")/lib.sh"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(suite address thread pause examples packages clang)
server_paths
passed=0 failed=0
ok() { passed=$((passed + 1)) && say "ok - $*"; }
not_ok() { failed=$((failed + 1)) && say "not ok - $*"; }

# built KIND [CMAKE-OPTION]...    configures and builds what the tests need, in a folder of its own
built() {
  local dir=$BUILDS/client-$1 kind=$1
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$dir/CMakeCache.txt" || rm -rf "$dir"
  mkdir -p "$dir"
  { cmake -S "$HERE" -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DGATEPOST_BUILD_TESTS=ON "${@:2}" &&
    cmake --build "$dir" -j 2; } >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" && not_ok "$kind builds" && return 1; }
  ok "$kind builds"
}
# beside_server COMMAND...    as the server's user, beside a cluster that is made once
beside_server() {
  rm -rf "$WORK/cluster"
  as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -- "$@"
}
# gtest NAME FOLDER FILTER    runs the suite, and counts its tests
gtest() {
  local name=$1 log=$WORK/$1.log status=0
  run_group beside_server "$2/cpp-client/test/gatepost_tests" --gtest_filter="$3" >"$log" 2>&1 || status=$?
  local good bad
  good=$(grep -cE '^\[       OK \]' "$log" || true)
  bad=$(grep -cE '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log" || true)
  [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  [ "$good" -gt 0 ] || [ "$bad" -gt 0 ] || bad=1
  sed -nE "s/^\[       OK \] (.*) \([0-9]+ ms\)$/ok - $name \1/p; s/^\[  FAILED  \] (.*) \([0-9]+ ms\)$/not ok - $name \1/p" "$log"
  [ "$bad" -eq 0 ] || grep -vE '^\[ (RUN|      OK) ' "$log" | tail -n 60 | sed 's/^/    /'
  passed=$((passed + good)) failed=$((failed + bad))
}
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

make_work
build=$("$HERE/scripts/build.sh" release)
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
give_work
export GATEPOST_PAUSES=${GATEPOST_PAUSES:-300} GATEPOST_ROUNDS=${GATEPOST_ROUNDS:-200} GATEPOST_FILTER=${GATEPOST_FILTER:-*}
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=0:exitcode=66

if wanted suite || wanted pause || wanted examples || wanted packages; then built debug || true; fi
! wanted suite || gtest suite "$BUILDS/client-debug" "$GATEPOST_FILTER"
if wanted address && built address "-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=undefined" \
  -DGATEPOST_BUILD_EXAMPLES=OFF; then
  # Children of a process with threads, and processes without threads, are not for sanitizers.
  gtest address "$BUILDS/client-address" "$GATEPOST_FILTER-Lifetime.WithoutThreads*"
fi
if wanted thread && built thread "-DCMAKE_CXX_FLAGS=-fsanitize=thread" -DGATEPOST_BUILD_EXAMPLES=OFF; then
  GATEPOST_ROUNDS=$((GATEPOST_ROUNDS / 4)) gtest thread "$BUILDS/client-thread" 'Threads.*:Lifetime.*Callback:Loss.IsToldInEachWay:Wait.*Busy:Election.OneLeads'
fi
if wanted pause; then
  if run_group beside_server "$BUILDS/client-debug/cpp-client/test/gatepost_pause" "$GATEPOST_PAUSES" >"$WORK/pause.log" 2>&1; then
    ok "a guard never says held past the server's deadline: $(tail -n 1 "$WORK/pause.log")"
  else
    sed 's/^/    /' "$WORK/pause.log"
    not_ok "a guard never says held past the server's deadline"
  fi
fi
if wanted examples; then
  for example in "$BUILDS"/client-debug/cpp-client/examples/example_*; do
    name=${example##*/example_}
    expected=$HERE/cpp-client/examples/$name.out
    if run_group beside_server timeout 60 bash -c 'psql -qc "CREATE EXTENSION gatepost" && "$1"' bash "$example" >"$WORK/example.log" 2>&1 &&
      diff "$expected" "$WORK/example.log" >"$WORK/example.diff"; then
      ok "example $name prints what it should"
    else
      sed 's/^/    /' "$WORK/example.diff" "$WORK/example.log"
      not_ok "example $name prints what it should"
    fi
  done
fi
if wanted packages; then
  for way in find_package find_package_static pkg_config add_subdirectory; do
    if "$HERE/cpp-client/test/packages/try.sh" "$way" "$BUILDS/client-debug" "$WORK/$way" >"$WORK/$way.log" 2>&1; then
      ok "a project finds the library by $way"
    else
      sed 's/^/    /' "$WORK/$way.log"
      not_ok "a project finds the library by $way"
    fi
  done
fi
if wanted clang; then
  if command -v clang++ >/dev/null; then
    built clang -DCMAKE_CXX_COMPILER=clang++ -DGATEPOST_BUILD_EXAMPLES=OFF || true
  else
    say "# there is no clang++"
  fi
fi
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
