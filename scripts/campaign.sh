#!/usr/bin/env bash
# What takes too long for make check: the tests that draw lots, by the thousand.
#   campaign.sh [PART]...    without a name all of them: server client command
#   GATEPOST_STRESS_SECONDS=120   of each test in which many sessions do what they like
#   GATEPOST_WAIT_EVENTS=10000    events that end waits, and GATEPOST_WAIT_RUNS=1000 queues of 50
#   GATEPOST_PAGE_EVENTS=10000    events in the life of an index
#   GATEPOST_PAUSES=10000         random pauses of the C++ client
#   GATEPOST_ROUNDS=20000         rounds of each thread of its concurrent tests, a quarter with the thread sanitizer
#   GATEPOST_RUNS=10000           runs of the test that there are never two commands at once
#   GATEPOST_LOSSES=1000          leases that are lost
# Closes with one line, "N passed, N failed".
. "$(dirname "$0")/lib.sh"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(server client command)
for part in "${parts[@]}"; do
  [[ $part =~ ^(server|client|command)$ ]] || die "no such part: $part"
done
export GATEPOST_STRESS_SECONDS=${GATEPOST_STRESS_SECONDS:-120} GATEPOST_WAIT_EVENTS=${GATEPOST_WAIT_EVENTS:-10000} \
  GATEPOST_WAIT_RUNS=${GATEPOST_WAIT_RUNS:-1000} GATEPOST_PAGE_EVENTS=${GATEPOST_PAGE_EVENTS:-10000} GATEPOST_PAUSES=${GATEPOST_PAUSES:-10000} GATEPOST_ROUNDS=${GATEPOST_ROUNDS:-20000} \
  GATEPOST_RUNS=${GATEPOST_RUNS:-10000} GATEPOST_LOSSES=${GATEPOST_LOSSES:-1000} \
  GATEPOST_PART_LIMIT=${GATEPOST_PART_LIMIT:-7200}

# One after the other: a campaign is to show faults of the project, not of a machine that has no time for it.
cd "$HERE"
for part in "${parts[@]}"; do
  case $part in
  server)
    counted scripts/one.sh release test/t/*_stress.pl test/t/008_index_pages_events.pl
    counted scripts/one.sh test test/instrumented/t/153_wait_order.pl test/instrumented/t/154_wait_events.pl
    ;;
  client) for name in pause address thread; do counted scripts/client_tests.sh "$name"; done ;;
  command) for name in exclusion losses; do counted scripts/cli_tests.sh "$name"; done ;;
  esac
done
say_counted
