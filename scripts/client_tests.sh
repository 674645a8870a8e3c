#!/usr/bin/env bash
# The tests of the C++ client, beside throwaway servers with the release build; closes with "N passed, N failed":
#   client_tests.sh [PART]...     without a name all of them but the mutants:
#       address    the suite, with the address and undefined sanitizers
#       pause      random pauses and cuts
#       examples   each prints what it should
#       documents  what README.md and docs/cpp-client.md show compiles and runs
#       packages   other projects find and use the library, each way
#       clang      all of it builds with clang
#       ignored    the compilers warn when what must not be ignored is
#       thread     what is concurrent, with the thread sanitizer
#       mutants    promises of the library left out, one at a time: cpp-client/test/mutants.tsv
#   GATEPOST_PAUSES=300           random pauses of the pause test
#   GATEPOST_ROUNDS=200           rounds a thread of the concurrent tests
#   GATEPOST_FILTER='*'           only these tests of the suite
#   GATEPOST_MUTANTS=''           only these mutants
. "$(dirname "$0")/lib.sh"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(address pause examples documents packages clang ignored thread)
"$HERE/scripts/setup.sh" packages.client
server_paths
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }
shown() { sed 's/^/#   /' "$@"; }

# built KIND TARGETS [CMAKE-OPTION]...    in a folder of its own
built() {
  local kind=$1 targets=$2 dir=$BUILDS/client-$1
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$dir/CMakeCache.txt" || rm -rf "$dir"
  mkdir -p "$dir"
  # shellcheck disable=SC2086
  { cmake -S "$HERE" -B "$dir" -DCMAKE_BUILD_TYPE=None -DGATEPOST_WERROR=ON -DGATEPOST_BUILD_EXAMPLES=OFF "${@:3}" &&
    cmake --build "$dir" -j 2 --target $targets; } >"$dir/build.log" 2>&1 && return
  tail -n 40 "$dir/build.log" | shown
  say "not ok - the build for $kind"
  return 1
}
# beside_server NAME COMMAND...    as the server's user, beside a cluster of that name
beside_server() {
  local name=$1
  shift
  as_server "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/$name.cluster" -- "$@"
}
# in_shards COUNT COMMAND...    beside each other; the command's last argument is the shard, its output is shown in turn
in_shards() {
  local count=$1 shard logs=() running=()
  shift
  for ((shard = 0; shard < count; shard++)); do
    logs+=("$WORK/$2.$shard.shown")
    "$@" "$shard" >"${logs[shard]}" 2>&1 &
    running+=($!)
  done
  wait "${running[@]}" || true
  cat "${logs[@]}"
}

# suite SHARDS NAME PROGRAM FILTER SHARD    runs GoogleTest's tests beside a server of their own
suite() {
  local name=$2 shard=$5 status=0 bad log=$WORK/$2.$5.log
  GTEST_TOTAL_SHARDS=$1 GTEST_SHARD_INDEX=$shard beside_server "$name.$shard" \
    timeout "${GATEPOST_PART_LIMIT:-600}" "$3" --gtest_filter="$4" >"$log" 2>&1 || status=$?
  sed -nE "s/^\[       OK \] (.*)$/ok - $name: \1/p; s/^\[  FAILED  \] (.* \([0-9]+ ms\))$/not ok - $name: \1/p" "$log"
  # Fewer tests than shards were asked for.
  ! grep -q 'Running 0 tests' "$log" || [ "$filter" = '*' ] || return 0
  bad=$(grep -cE '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log" || true)
  # One that ends the program is not among those that failed; tests that do not run, or are skipped, have not passed.
  if [ $status -ne 0 ] || ! grep -q '^\[       OK \]' "$log" || grep -q '^\[  SKIPPED' "$log"; then
    [ "$bad" -gt 0 ] || say "not ok - $name, shard $shard: status $status"
    # What failed, from its beginning, and how it ended.
    awk '/^\[ RUN / { text = "" } { text = text $0 "\n" } /^\[  FAILED  \] .* \([0-9]+ ms\)$/ { printf "%s", text; text = "" }
         END { printf "%s", text }' "$log" | tail -n 100 | shown
  fi
}

part_address() { in_shards 4 suite 4 address "$sanitized/gatepost_tests" "$filter" || true; }
part_thread() {
  GATEPOST_ROUNDS=$((GATEPOST_ROUNDS / 4)) in_shards 2 suite 2 thread "$BUILDS/client-thread/cpp-client/test/gatepost_thread_tests" \
    'Threads.*:Lifetime.*Callback:Loss.IsToldInEachWay:Loss.EachStop*:Loss.AfterTheEnd*:Wait.InOrder*:Wait.StopsWhenAsked:Election.OneLeads:Singleton.*:Renewal.IsWaited*'
}
part_pause() {
  if beside_server pause timeout $((240 + pauses)) "$sanitized/gatepost_pause" "$pauses" >"$WORK/pause.log" 2>&1; then
    say "ok - a guard never says held past the server's deadline: $(tail -n 1 "$WORK/pause.log")"
  else
    shown "$WORK/pause.log"
    say "not ok - a guard never says held past the server's deadline"
  fi
}
mutants_of_shard() {
  local lines=() number=0 line
  while read -r line; do
    [ $((number++ % $1)) -ne "$4" ] || lines+=("$line")
  done <"$3"
  [ ${#lines[@]} -eq 0 ] || beside_server "$2.$4" "$WORK/mutants.sh" "${sanitized%/cpp-client/test}" "${lines[@]}"
}
part_mutants() {
  local list=$HERE/cpp-client/test/mutants.tsv
  # What leaves out libpqxx 6's part shows nothing with another.
  grep -v '^#' "$list" | { if pkg-config --atleast-version=7 libpqxx; then grep -v ^silent_reconnect; else cat; fi; } |
    { if [ -n "${GATEPOST_MUTANTS:-}" ]; then grep -wE "^(${GATEPOST_MUTANTS// /|})"; else cat; fi; } >"$WORK/mutants.tsv"
  cp "$HERE/cpp-client/test/mutants.sh" "$WORK/"
  # What a mutant leaks is not what its test is to notice.
  local -x ASAN_OPTIONS=detect_leaks=0
  in_shards 4 mutants_of_shard 4 mutants "$WORK/mutants.tsv"
}
# printed NAME PROGRAM...    leaves $WORK/NAME/PROGRAM.log
printed() {
  local dir=$WORK/$1
  mkdir -p "$dir"
  cp "$HERE/cpp-client/test/examples.sh" "$dir/"
  [ "$(id -u)" -ne 0 ] || chown "$SERVER_USER:" "$dir"
  beside_server "$1" "$dir/examples.sh" "$dir" "${@:2}" >"$dir/log" 2>&1 || shown "$dir/log"
}
# prints WHAT LOG COMMAND...    the command says whether the log is as it should be
prints() {
  if "${@:3}" "$2" >/dev/null 2>&1; then
    say "ok - $1"
  else
    [ ! -e "$2" ] || shown "$2"
    say "not ok - $1"
  fi
}
part_examples() {
  local source name names=()
  for source in "$HERE"/cpp-client/examples/*.out; do names+=("$(basename "$source" .out)"); done
  printed examples "${names[@]/#/$client/cpp-client/examples/example_}"
  for name in "${names[@]}"; do
    prints "example $name prints what it should" "$WORK/examples/example_$name.log" diff "$HERE/cpp-client/examples/$name.out"
  done
}
# What README.md and docs/cpp-client.md show.
part_documents() {
  if ! "$HERE/cpp-client/test/documents.sh" "$client" "$WORK/programs" >"$WORK/documents.log" 2>&1; then
    shown "$WORK/documents.log"
    say "not ok - what the documents show compiles"
    return
  fi
  printed documents "$WORK/programs/readme" "$WORK/programs/pieces"
  prints "the program of README.md runs" "$WORK/documents/readme.log" grep -xE 'token [0-9]+, held: 1'
  prints "what docs/cpp-client.md shows runs" "$WORK/documents/pieces.log" grep -xE 'by the holder, [0-9]+ pieces'
}
# tried WHAT WAY
tried() {
  if "$HERE/cpp-client/test/packages/try.sh" "$2" "$client" "$WORK/$2" >"$WORK/$2.log" 2>&1; then
    say "ok - $1"
  else
    shown "$WORK/$2.log"
    say "not ok - $1"
  fi
}
part_packages() {
  local way
  for way in find_package find_package_static pkg_config add_subdirectory; do
    tried "a project uses the library by $way" "$way"
  done
  tried "a build is optimised, and its warnings are no errors, unless it is asked for otherwise" defaults
  tried "the package is where it has been installed to" prefixes
  tried "a library that is missing is named with its package" missing
}
part_clang() {
  if ! command -v clang++ >/dev/null; then
    say "not ok - clang++ is not here"
  elif built clang "all gatepost_thread_tests gatepost_bench" -DCMAKE_CXX_COMPILER=clang++ -DGATEPOST_BUILD_TESTS=ON -DGATEPOST_BUILD_EXAMPLES=ON; then
    say "ok - library, command, tests and examples build with clang"
  fi
}
part_ignored() {
  local compiler
  for compiler in g++ clang++; do
    if "$HERE/cpp-client/test/ignored.sh" "$compiler" "$WORK/ignored.$compiler" >"$WORK/ignored.log" 2>&1; then
      say "ok - $compiler warns when what must not be ignored is"
    else
      shown "$WORK/ignored.log"
      say "not ok - $compiler warns when what must not be ignored is"
    fi
  done
}

# part NAME    its lines go to a file, and are shown when it has ended
part() {
  local begun=$EPOCHREALTIME
  ! wanted "$1" || { "part_$1" >"$WORK/$1.part" 2>&1 || true; cat "$WORK/$1.part"; say "# $1: $(seconds_since "$begun") s"; }
}

make_work
build=$("$HERE/scripts/build.sh" release)
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
# The first server leaves what others, beside each other, begin with.
export GATEPOST_TEMPLATES=$WORK/templates
mkdir "$GATEPOST_TEMPLATES"
give_work
beside_server first true
pauses=${GATEPOST_PAUSES:-300} filter=${GATEPOST_FILTER:-*} sanitized=$BUILDS/client-address/cpp-client/test
export GATEPOST_ROUNDS=${GATEPOST_ROUNDS:-200}
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=exitcode=66

begun=$EPOCHREALTIME
if wanted examples || wanted documents || wanted packages; then client=$("$HERE/scripts/build.sh" client); fi
if wanted address || wanted pause || wanted mutants; then
  built address "gatepost_tests gatepost_pause" -DGATEPOST_BUILD_TESTS=ON \
    "-DCMAKE_CXX_FLAGS=-g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -DGATEPOST_MUTANTS" >"$WORK/build.phase" ||
    { cat "$WORK/build.phase" && parts=("${parts[@]/#address/-}") && parts=("${parts[@]/#pause/-}") && parts=("${parts[@]/#mutants/-}"); }
fi
say "# builds: $(seconds_since "$begun") s"

# Tests mostly wait, so what only compiles goes on beside them, behind them in the queue for processors.
builders() {
  renice -n 5 -p "$BASHPID" >/dev/null
  ! wanted thread || built thread gatepost_thread_tests -DGATEPOST_BUILD_TESTS=ON "-DCMAKE_CXX_FLAGS=-g1 -fsanitize=thread" || true
  part clang
  part ignored
  part documents
  part packages
}
pauses_and_mutants() {
  part pause &
  part mutants
  wait
}
# phase COMMAND...    its lines are shown when it has ended
phases=0
phase() {
  local log=$WORK/$((++phases)).phase
  run_group "$@" >"$log" 2>&1 || true
  cat "$log"
}
start_group builders >"$WORK/builders.phase" 2>&1
builders=$GROUP
phase part address
phase pauses_and_mutants
phase part examples
wait "$builders" || true
cat "$WORK/builders.phase"
phase part thread
passed=$(cat "$WORK"/*.phase | grep -c '^ok - ' || true)
failed=$(cat "$WORK"/*.phase | grep -c '^not ok - ' || true)
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
