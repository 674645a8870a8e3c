#!/usr/bin/env bash
# TAP: the matrix of protected writes (call that s1 leaves open x call that s2 makes meanwhile x isolation level) has no
# empty cell. Only a change of data may end in a serialization failure. It waits only for another change, or for a token
# that is being drawn; and besides it only the call waits that is to.
#   matrix_writes.sh [DIR]     DIR is the project, or a copy of it
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
matrix=$root/test/matrix_writes
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
failed=0

"$matrix/generate.sh" "$made"
status=0
for spec in "$made"/specs/*; do cmp -s "$spec" "$root/test/specs/${spec##*/}" || status=1; done
cmp -s "$made/matrix_writes/cells.tsv" "$matrix/cells.tsv" || status=1
if [ $status -eq 0 ]; then printf 'ok 1'; else printf 'not ok 1' && failed=1; fi
printf ' - specs and cells.tsv are what generate.sh writes\n'

mapfile -t changes < <(awk -F '\t' '$2 == "yes" { print $1 }' "$matrix/calls.tsv")
may_wait='' may_fail=''
for change in "${changes[@]}"; do
  for open in "${changes[@]}"; do may_fail+=" $open/$change"; done
  for grant in acquire break transfer wait permit; do may_wait+=" $grant/$change"; done
done
while IFS=$'\t' read -r open _; do may_wait+=" $open/wait"; done < <(tail -n +2 "$matrix/calls.tsv")
awk -F '\t' -v root="$root" -v n=1 -v may_wait="$may_wait $may_fail" -v may_fail="$may_fail" \
  -f "$root/test/matrix/cells.awk" "$matrix/calls.tsv" "$matrix/cells.tsv" || failed=1
exit $failed
