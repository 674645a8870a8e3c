#!/usr/bin/env bash
# The tests of the command gatepost: the program itself, beside throwaway servers; closes with "N passed, N failed":
#   cli_tests.sh [PART]...     without a name all of them: commands connect deaf documents exclusion hold install
#                              losses pooler restart run terminal; and mutants, promises of the command left out, one at a
#                              time: cpp-client/cli/test/mutants.tsv
#   GATEPOST_RUNS=1000         runs of the test that there are never two commands at once; 10000 in a campaign
#   GATEPOST_LOSSES=120        leases that are lost; 1000 in a campaign
#   GATEPOST_SEED=N            of the faults
#   GATEPOST_MUTANTS=''        only these mutants
#   GATEPOST_CLIENT=DIR        the command of this build, instead of one that is made first
#   GATEPOST_TAP=1             every result, for scripts/checks/cli.sh
. "$(dirname "$0")/lib.sh"
begun=$EPOCHREALTIME
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(exclusion losses deaf run hold restart terminal commands connect documents pooler install)
export GATEPOST_RUNS=${GATEPOST_RUNS:-1000} GATEPOST_LOSSES=${GATEPOST_LOSSES:-120}
"$HERE/scripts/setup.sh" packages.cli
server_paths
make_work
build=$("$HERE/scripts/build.sh" release)
client=${GATEPOST_CLIENT:-$("$HERE/scripts/build.sh" client)}
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
mkdir -p "$WORK/tree/cpp-client/cli" "$WORK/bin"
cp -R "$HERE/cpp-client/cli/test" "$WORK/tree/cpp-client/cli/"
cp "$client/cpp-client/cli/gatepost" "$WORK/bin/"
sources=$HERE/cpp-client/cli/test
c++ -std=c++20 -O1 -o "$WORK/bin/child" "$sources/child.cpp"
c++ -std=c++20 -O1 -I "$HERE/cpp-client/include" -o "$WORK/bin/proxy" "$sources/proxy.cpp" \
  "$HERE/cpp-client/test/proxy.cpp" -lpthread
give_work
export GATEPOST_HELPERS=$WORK/bin GATEPOST_TREE=$WORK/tree PATH=$WORK/bin:$PATH

# The command with GATEPOST_MUTANTS, in a folder of its own.
mutable_command() {
  local dir=$BUILDS/client-mutants
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$HERE" "$dir/CMakeCache.txt" || rm -rf "$dir"
  mkdir -p "$dir"
  { cmake -S "$HERE" -B "$dir" -DCMAKE_BUILD_TYPE=None -DGATEPOST_WERROR=ON -DGATEPOST_BUILD_EXAMPLES=OFF "-DCMAKE_CXX_FLAGS=-O1 -DGATEPOST_MUTANTS" &&
    cmake --build "$dir" -j 2 --target gatepost_command; } >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" && return 1; }
  mkdir "$WORK/mutable" && cp "$dir/cpp-client/cli/gatepost" "$WORK/mutable/"
}
# mutants    each beside others, and half of them beside the other half
mutants() {
  local list=$sources/mutants.tsv shard shards=() lines number=0 line
  mutable_command || return 1
  for shard in 0 1 2; do
    lines=() number=0
    while read -r line; do
      [ $((number++ % 3)) -ne $shard ] || lines+=("$line")
    done < <(grep -v '^#' "$list" | { if [ -n "${GATEPOST_MUTANTS:-}" ]; then grep -wE "^(${GATEPOST_MUTANTS// /|})"; else cat; fi; })
    [ ${#lines[@]} -gt 0 ] || continue
    # shellcheck disable=SC2016
    beside_server "mutants$shard" bash -c 'mkdir "$1" && cd "$1" && PATH=$2:$PATH exec "${@:3}"' bash "$WORK/tmp/mutants$shard" \
      "$WORK/mutable" "$WORK/tree/cpp-client/cli/test/mutants.sh" "${lines[@]}" >"$WORK/mutants.$shard" 2>&1 &
    shards+=("$!")
  done
  wait "${shards[@]}" || true
  cat "$WORK"/mutants.? | awk '/^(not )?ok - / { sub(/ok - /, "ok " ++n " - ") } { print } END { print "1.." n + 0 }'
}
# beside_server NAME COMMAND...    as the server's user, beside a cluster of that name
beside_server() {
  local name=$1 options=()
  shift
  [[ " deaf exclusion losses mutants0 mutants1 mutants2 " != *" $name "* ]] || options=(-c max_connections=400)
  as_server env GATEPOST_TEST_HOST="$WORK/$name.cluster" "$WORK/tree/scripts/cluster.sh" "$WORK/root" "$WORK/$name.cluster" \
    "${options[@]}" -- "$@"
}

# part NAME    in a folder and beside a server of its own, which may be stopped and frozen
part() {
  local name=$1 started=$EPOCHREALTIME status=0 log=$WORK/$1.log test interpreter=bash
  if [ "$name" = mutants ]; then
    mutants >"$log" 2>&1 || status=$?
  elif [ "$name" = install ]; then
    "$sources/install.sh" "$client" "$WORK/installed" >"$log" 2>&1 || status=$?
  else
    test=$WORK/tree/cpp-client/cli/test/$name.sh
    [ -e "$test" ] || { test=${test%.sh}.pl && interpreter=perl; }
    # shellcheck disable=SC2016
    beside_server "$name" bash -c '
      PATH=$GATEPOST_HELPERS:$PATH && psql -Xqc "CREATE EXTENSION gatepost" && mkdir "$1" && cd "$1" &&
        exec timeout "$4" "$2" "$3"' bash "$WORK/tmp/$name" "$interpreter" "$test" "${GATEPOST_PART_LIMIT:-900}" \
      >"$log" 2>&1 || status=$?
  fi
  say "$status $(seconds_since "$started")" >"$WORK/$name.ended"
}

groups=()
for name in "${parts[@]}"; do
  start_group part "$name"
  groups+=("$GROUP")
done
for group in "${groups[@]}"; do wait "$group" || true; done
passed=0 failed=0
for name in "${parts[@]}"; do
  read -r status seconds <"$WORK/$name.ended" || status=1 seconds=0
  good=$(grep -cE '^ok ' "$WORK/$name.log" || true)
  bad=$(grep -cE '^not ok ' "$WORK/$name.log" || true)
  # A test that ends early, or says nothing, has failed.
  grep -qE '^1\.\.[0-9]+$' "$WORK/$name.log" || bad=$((bad + 1))
  [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  printf '  %-12s %4d passed, %d failed %8s s\n' "$name" "$good" "$bad" "$seconds"
  if [ "$bad" -gt 0 ]; then grep -vE '^ok ' "$WORK/$name.log" | sed 's/^/    /'; else grep -E '^# ' "$WORK/$name.log" | sed 's/^/    /' || true; fi
  if [ -n "${GATEPOST_TAP:-}" ]; then
    sed -nE "s/^ok [0-9]+ - /ok - $name: /p" "$WORK/$name.log"
    for ((i = 0; i < bad; i++)); do say "not ok - $name"; done
  fi
  passed=$((passed + good)) failed=$((failed + bad))
done
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp "$WORK"/*.log "$KEEP/"; }
say "In $(seconds_since "$begun") s:"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
