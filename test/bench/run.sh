#!/usr/bin/env bash
# make bench: every measurement beside one throwaway cluster. A missed aim is reported and fails nothing.
#   ROUNDS=5          alternating rounds a measurement
#   SECONDS_EACH=3    length of one round of one contender
#   ONLY="NAME.."     only these measurements: folders beside this file; client, the C++ library; and climb, whether eight
#                     sessions that climb and descend between the rungs for 60 s ever hold a name together
. "$(dirname "$0")/../../scripts/lib.sh"
measurements=(
  refused
  pair
  slow_flush
  fenced
  used
  bulk
  writers
  stale_uses
  advisory
  names
  handover
  idle_release
  beside_leases
  renew_many
  permits
  told
  command
  client
  climb
)
export ROUNDS=${ROUNDS:-5} SECONDS_EACH=${SECONDS_EACH:-3} ONLY=${ONLY:-${measurements[*]}}
for number in "$ROUNDS" "$SECONDS_EACH"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die "ROUNDS and SECONDS_EACH are whole numbers from 1"
done
for measurement in $ONLY; do
  [[ " client climb " != *" $measurement "* ]] || continue
  [ -e "$HERE/test/bench/$measurement/plan.sh" ] || die "no such measurement: $measurement"
done
server_paths
say "building for $PG_VERSION"
build=$("$HERE/scripts/build.sh" release)

make_work
"$HERE/scripts/private_root.sh" "$WORK/root" "$build"
# idle_release: the same release built without the code that wakes, as a second library beside the first.
if [[ " $ONLY " == *" idle_release "* ]]; then
  unwoken=$("$HERE/scripts/build.sh" unwoken)
  cp "$unwoken/gatepost.so" "$WORK/root$PG_LIB/gatepost_unwoken.so"
fi
if [[ " $ONLY " == *" command "* ]]; then
  client=$("$HERE/scripts/build.sh" client)
  cp "$client/cpp-client/cli/gatepost" "$WORK/"
  export PATH=$WORK:$PATH
fi
give_work
tree=$WORK/tree
# No checkpoint amid the rounds, since its page images would be charged to whoever runs next. Buffers for a million
# leases, since what they cost without is the disk's and any table's. All else is as the server has it.
start_group as_server "$tree/scripts/cluster.sh" "$WORK/root" "$WORK/cluster" -c shared_buffers=1GB \
  -c max_connections=250 -c checkpoint_timeout=1d -c max_wal_size=16GB -- "$tree/test/bench/measure.sh"
status=0
wait "$GROUP" || status=$?
if [[ " $ONLY " == *" client "* ]]; then
  client=$("$HERE/scripts/build.sh" client)
  cmake -S "$HERE" -B "$client" -DGATEPOST_BUILD_TESTS=ON >/dev/null && cmake --build "$client" -j 2 --target gatepost_bench >/dev/null
  for what in "pair $ROUNDS $SECONDS_EACH" "guards 10000 60"; do
    # shellcheck disable=SC2086
    run_group as_server "$tree/scripts/cluster.sh" "$WORK/root" "$WORK/client.${what%% *}" -c checkpoint_timeout=1d -- \
      "$client/cpp-client/test/gatepost_bench" $what || status=1
  done
fi
if [[ " $ONLY " == *" climb "* ]]; then
  say "Climbing and descending for 60 s, 8 clients"
  GATEPOST_STRESS_SECONDS=60 "$HERE/scripts/one.sh" release test/t/110_rung_stress.pl || status=1
fi
exit $status
