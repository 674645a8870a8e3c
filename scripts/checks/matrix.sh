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

awk -F '\t' -v root="$root" -v n=$n '
function load(spec,   file, line, permutation) {
  if (spec in loaded) return
  loaded[spec] = 1
  file = root "/test/specs/" spec ".spec"
  while ((getline line < file) > 0) {
    if (line ~ /^permutation /) { sub(/^permutation /, "", line); in_spec[spec, line] = 1 }
    if (line ~ /^step check[ \t].*FROM violations/) has_check[spec] = 1
  }
  close(file)
  file = root "/expected/" spec ".out"
  while ((getline line < file) > 0) {
    if (line ~ /^starting permutation: /) { permutation = substr(line, 23); checked = 0 }
    if (line ~ /^step check:/) checked = 1
    if (checked && line == "(0 rows)") clean[spec, permutation] = 1
    if (line ~ /<waiting|40001|^ERROR/) disturbed[spec, permutation] = 1
  }
  close(file)
}
# Whether the words of the permutation show the cell.
function shows(permutation, open, call, level, end,   words, count, i, stage) {
  count = split(permutation, words, " ")
  for (i = 1; i <= count; i++) {
    if (words[i] == "s1_" level) at_level[1] = i
    if (words[i] == "s2_" level) at_level[2] = i
    if (stage == 0 && words[i] == "s1_" open && at_level[1] && at_level[2]) stage = 1
    else if (stage == 1 && words[i] == "s2_" call) stage = 2
    else if (stage == 2 && words[i] == "s1_" end) stage = 3
  }
  delete at_level
  return stage == 3 && words[count] == "check"
}
FILENAME ~ /calls\.tsv$/ { if (FNR > 1) calls[++call_count] = $1; next }
FNR > 1 {
  load($5)
  problem = !has_check[$5] ? "has no query for violations" : !(($5, $6) in in_spec) ? "does not exist" \
    : !shows($6, $1, $2, $3, $4) ? "does not show it" : !(($5, $6) in clean) ? "has no empty answer in expected" \
    : (($5, $6) in disturbed) && !($1 == $2 && $2 == "fenced_update") ? "waits or fails" : ""
  if (problem == "") shown[$1, $2, $3, $4] = 1
  else print "# " $1 " x " $2 ", " $3 ", " $4 ": permutation of " $5 " " problem
}
END {
  split("read_committed repeatable_read serializable", levels, " ")
  split("commit rollback", ends, " ")
  for (i = 1; i <= call_count; i++)
    for (j = 1; j <= call_count; j++) {
      empty = ""
      for (l = 1; l <= 3; l++)
        for (e = 1; e <= 2; e++)
          if (!((calls[i], calls[j], levels[l], ends[e]) in shown)) empty = empty " " levels[l] "/" ends[e]
      if (empty != "") failed = 1
      print (empty == "" ? "ok " : "not ok ") ++n " - " calls[i] " x " calls[j] (empty == "" ? "" : ": empty at" empty)
    }
  print "1.." n
  exit failed
}' "$matrix/calls.tsv" "$matrix/cells.tsv" || failed=1
exit $failed
