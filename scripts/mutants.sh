#!/usr/bin/env bash
# Leaves promises out, one at a time, and sees that the test that each list names fails:
#   mutants.sh [PART]...    without a name all of them: server (test/mutants/list.tsv, whose run.sh can do a part),
#                           client (cpp-client/test/mutants.tsv), command (cpp-client/cli/test/mutants.tsv)
# That each list has every mutant of its sources is for scripts/checks/test_files.sh. Closes with one line,
# "N passed, N failed".
. "$(dirname "$0")/lib.sh"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(server client command)
for part in "${parts[@]}"; do
  [[ $part =~ ^(server|client|command)$ ]] || die "no such part: $part"
done

cd "$HERE"
for part in "${parts[@]}"; do
  case $part in
  server) counted test/mutants/run.sh ;;
  client) counted scripts/client_tests.sh mutants ;;
  command) counted scripts/cli_tests.sh mutants ;;
  esac
done
say_counted
