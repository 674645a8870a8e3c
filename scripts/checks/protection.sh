#!/usr/bin/env bash
# TAP: the table of writes x kinds of protection has no cell without a test, and the docs print it as it is tested.
#   protection.sh [DIR]     DIR is the project, or a copy of it
#   protection.sh --table   prints the table for docs/protect-a-table.md
# test/matrix/protection.tsv has a line for each cell: what becomes of the write without a use, with one, and with one of
# an older token; and the test that shows it. A test of test/sql has the line in its answer; one of test/t goes through the
# lines that name it.
set -euo pipefail
[ "${1:-}" = --table ] && table=1 && shift || table=
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}
cells=$root/test/matrix/protection.tsv

# A row for each write, in the order of the list: "refused / passes", without what does not apply.
rows() {
  awk -F '\t' '
    FNR == 1 { next }
    !($1 in seen) { seen[$1] = 1; writes[++count] = $1 }
    { cell[$1, $2] = $3 ($4 == "-" ? "" : " / " $4) ($5 == "-" ? "" : " / " $5) }
    END {
      split("lease tree template column", kinds, " ")
      for (i = 1; i <= count; i++) {
        row = "| " writes[i] " |"
        for (k = 1; k <= 4; k++) row = row " " ((writes[i], kinds[k]) in cell ? cell[writes[i], kinds[k]] : "-") " |"
        print row
      }
    }' "$cells"
}
[ -z "$table" ] || { rows && exit; }

n=0 failed=0
report() { # NAME LINES: passes when there are no lines
  n=$((n + 1))
  if [ -z "$2" ]; then printf 'ok %d - %s\n' $n "$1"; else
    printf 'not ok %d - %s\n' $n "$1"
    sed 's/^/#   /' <<<"$2"
    failed=1
  fi
}

report "the docs have the table as it is tested" \
  "$(diff <(sed -n '/^<!-- cells -->$/,/^$/p' "$root/docs/protect-a-table.md" | grep '^|' | tail -n +3) <(rows) || true)"

# The writes of test/writes.sql: under one table's lease those without links, under all other kinds all.
writes=$(sed -nE "s/^  \('([^']*)', (true|false), .*/\2\t\1/p" "$root/test/writes.sql")
report "every write has its cells" "$(while IFS=$'\t' read -r linked write; do
  for kind in lease tree template column; do
    [ "$linked $kind" != "true lease" ] || continue
    grep -qF "$write"$'\t'"$kind"$'\t' "$cells" || echo "$write, $kind"
  done
done <<<"$writes")"
report "every cell is said once" "$(cut -f 1,2 "$cells" | sort | uniq -d)"

while IFS=$'\t' read -r write kind without used stale test; do
  case $test in
  test/sql/*.sql)
    answer=$root/expected/$(basename "$test" .sql).out
    missing=$(grep -qxF "$write | $kind | $without | $used | $stale" "$answer" || echo "not in ${answer##*/}")
    ;;
  test/t/*.pl)
    missing=$(grep -qF "'$write'" "$root/$test" && grep -q 'expected_cells()' "$root/$test" || echo "$test does not show it")
    ;;
  *) missing="no test: $test" ;;
  esac
  [ -f "$root/$test" ] || missing="$test does not exist"
  report "$write, $kind" "$missing"
done < <(tail -n +2 "$cells")
printf '1..%d\n' $n
exit $failed
