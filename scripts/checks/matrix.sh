#!/usr/bin/env bash
# TAP: the matrix of calls (call that s1 leaves open x call that s2 makes meanwhile x isolation level) has no empty cell.
#   matrix.sh [DIR]     DIR is the project, or a copy of it
# A cell is shown, once with s1 committing and once rolling back, by a permutation that exists, makes these calls in this
# order at this level, and ends in the query for violations, which the expected answer shows to be empty. Only
# fenced_update may wait for the other transaction or end in a serialization failure, and only where both write the row.
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
matrix=$root/test/matrix
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
n=0
result() { # STATUS TEXT
  n=$((n + 1))
  if [ "$1" -eq 0 ]; then printf 'ok %d - %s\n' $n "$2"; else printf 'not ok %d - %s\n' $n "$2" && failed=1; fi
}
failed=0

# A change of the generator or of the list of calls reaches the specs.
status=0
"$matrix/generate.sh" "$made"
for spec in "$made"/specs/*; do cmp -s "$spec" "$root/test/specs/${spec##*/}" || status=1; done
cmp -s "$made/matrix/cells.tsv" "$matrix/cells.tsv" || status=1
result $status "specs and cells.tsv are what generate.sh writes"

# A new function of the extension is a new row and column, or is named as standing outside.
status=0
while read -r function; do
  grep -qP "^[^\t]*\t[^\t]*\t$function\t" "$matrix/calls.tsv" || grep -qP "^$function\t" "$matrix/outside.tsv" || {
    printf '# %s is neither in calls.tsv nor in outside.tsv\n' "$function"
    status=1
  }
done < <(sed -nE 's/^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE|VIEW) +([^ (]*\.)?([a-z_]+).*/\4/p' "$root"/sql/*.sql)
result $status "every function of the extension is a call of the matrix or stands outside"

awk -F '\t' -v root="$root" -v n=$n -v may_wait=fenced_update/fenced_update -v may_fail=fenced_update/fenced_update \
  -f "$matrix/cells.awk" "$matrix/calls.tsv" "$matrix/cells.tsv" || failed=1
exit $failed
