#!/usr/bin/env bash
# The tests of the C++ client, beside throwaway servers with the release build; closes with "N passed, N failed":
#   client_tests.sh [PART]...     without a name all of them:
#       examples   each prints what it should, and what README.md and docs/cpp-client.md show compiles
#       packages   other projects find and use the library, each way
#       address    the suite, with the address and undefined sanitizers
#       pause      random pauses and cuts              thread     what is concurrent, with the thread sanitizer
#       clang      the library builds with clang
#   GATEPOST_PAUSES=300           random pauses of the pause test
#   GATEPOST_ROUNDS=200           rounds a thread of the concurrent tests
#   GATEPOST_FILTER='*'           only these tests of the suite
. "$(dirname "$0")/lib.sh"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(examples packages address pause thread clang)
"$HERE/scripts/setup.sh" packages.client
server_paths
passed=0 failed=0
ok() { passed=$((passed + 1)) && say "ok - $*"; }
not_ok() { failed=$((failed + 1)) && say "not ok - $*"; }
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
shown() { sed 's/^/#   /' "$@"; }

# built KIND TARGET [CMAKE-OPTION]...    in a folder of its own
built() {
  local kind=$1 dir=$BUILDS/client-$1
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$dir/CMakeCache.txt" || rm -rf "$dir"
  mkdir -p "$dir"
  { cmake -S "$HERE" -B "$dir" -DCMAKE_BUILD_TYPE=Debug -DGATEPOST_BUILD_EXAMPLES=OFF "${@:3}" &&
    cmake --build "$dir" -j 2 --target "$2"; } >"$dir/build.log" 2>&1 && return
  tail -n 40 "$dir/build.log" | shown
  not_ok "the build for $kind"
  return 1
}
# beside_server NAME COMMAND...    as the server's user, beside a cluster of that name
beside_server() {
  local name=$1
  shift
  as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/$name.cluster" -- "$@"
}
# suite NAME FOLDER FILTER [SHARDS]    runs GoogleTest's tests, in shards beside each other, and counts them
suite() {
  local name=$1 shards=${4:-1} shard groups=() log status good bad
  for ((shard = 0; shard < shards; shard++)); do
    start_group env GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$shard" bash -c '
      . "$0/scripts/lib.sh"; server_paths; WORK=$1 dir=$2 && shift 2
      as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$dir" -- "$@"' "$HERE" "$WORK" "$WORK/$name.$shard.cluster" \
      timeout 240 "$2/cpp-client/test/gatepost_tests" --gtest_filter="$3" >"$WORK/$name.$shard.log" 2>&1
    groups+=("$GROUP")
  done
  for ((shard = 0; shard < shards; shard++)); do
    status=0 log=$WORK/$name.$shard.log
    wait "${groups[shard]}" || status=$?
    good=$(grep -cE '^\[       OK \]' "$log" || true)
    bad=$(grep -cE '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log" || true)
    # One that ends the program is not among those that failed, and tests that do not run have not passed.
    [ $status -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    [ "$good" -gt 0 ] || [ "$bad" -gt 0 ] || bad=1
    sed -nE "s/^\[       OK \] (.*) \([0-9]+ ms\)$/ok - $name: \1/p; s/^\[  FAILED  \] (.*) \([0-9]+ ms\)$/not ok - $name: \1/p" "$log"
    if [ "$bad" -gt 0 ]; then
      say "not ok - $name, shard $shard: status $status"
      grep -vE '^\[       OK ' "$log" | tail -n 80 | shown
    fi
    passed=$((passed + good)) failed=$((failed + bad))
  done
}

make_work
build=$("$HERE/scripts/build.sh" release)
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
give_work
pauses=${GATEPOST_PAUSES:-300} filter=${GATEPOST_FILTER:-*}
export GATEPOST_ROUNDS=${GATEPOST_ROUNDS:-200}
# What a child process leaves to its parent is no leak.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=exitcode=66

if wanted examples || wanted packages; then client=$("$HERE/scripts/build.sh" client); fi
if wanted examples; then
  for source in "$HERE"/cpp-client/examples/*.out; do
    example=$(basename "$source" .out)
    # shellcheck disable=SC2016
    if run_group beside_server "$example" timeout 60 bash -c 'psql -qc "CREATE EXTENSION gatepost" && "$1"' bash \
      "$client/cpp-client/examples/example_$example" >"$WORK/example.log" 2>&1 &&
      diff "$source" "$WORK/example.log" >"$WORK/example.diff"; then
      ok "example $example prints what it should"
    else
      shown "$WORK/example.log"
      not_ok "example $example prints what it should"
    fi
  done
fi
if wanted examples; then
  if "$HERE/cpp-client/test/documents.sh" "$client" "$WORK/documents" >"$WORK/documents.log" 2>&1; then
    ok "what the documents show compiles"
  else
    shown "$WORK/documents.log"
    not_ok "what the documents show compiles"
  fi
fi
if wanted packages; then
  for way in find_package find_package_static pkg_config add_subdirectory; do
    if "$HERE/cpp-client/test/packages/try.sh" "$way" "$client" "$WORK/$way" >"$WORK/$way.log" 2>&1; then
      ok "a project uses the library by $way"
    else
      shown "$WORK/$way.log"
      not_ok "a project uses the library by $way"
    fi
  done
fi
if wanted address || wanted pause; then
  sanitized=$BUILDS/client-address
  built address all -DGATEPOST_BUILD_TESTS=ON \
    "-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=undefined" || parts=("${parts[@]/address/}")
fi
# A sanitizer has a thread of its own, so the test without threads is not for it.
! wanted address || suite address "$sanitized" "$filter-Lifetime.WithoutThreads*" 3
if wanted pause; then
  if run_group beside_server pause timeout 240 "$sanitized/cpp-client/test/gatepost_pause" "$pauses" >"$WORK/pause.log" 2>&1; then
    ok "a guard never says held past the server's deadline: $(tail -n 1 "$WORK/pause.log")"
  else
    shown "$WORK/pause.log"
    not_ok "a guard never says held past the server's deadline"
  fi
fi
if wanted thread && built thread gatepost_tests -DGATEPOST_BUILD_TESTS=ON "-DCMAKE_CXX_FLAGS=-fsanitize=thread"; then
  GATEPOST_ROUNDS=$((GATEPOST_ROUNDS / 4)) suite thread "$BUILDS/client-thread" \
    'Threads.*:Lifetime.*Callback:Loss.IsToldInEachWay:Wait.InOrder*:Wait.StopsWhenAsked:Election.OneLeads:Singleton.*'
fi
if wanted clang; then
  if ! command -v clang++ >/dev/null; then
    say "# no clang++ here"
  elif built clang gatepost -DCMAKE_CXX_COMPILER=clang++; then
    ok "the library builds with clang"
  fi
fi
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
