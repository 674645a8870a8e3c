# TAP for a matrix of calls: each cell is shown, once with s1 committing and once rolling back, by a permutation that exists,
# makes these calls in this order at this level, and ends in the query for violations, which the expected answer shows to
# be empty. To be run on calls.tsv and cells.tsv, with -F '\t' and
#   root                  the project
#   n                     the number of the last result before
#   may_wait, may_fail    the pairs open/call, between spaces, in which a step may wait or end in a serialization failure
function load(spec,   file, line, permutation) {
  if (spec in loaded) return
  loaded[spec] = 1
  file = root "/test/specs/" spec ".spec"
  while ((getline line < file) > 0) {
    if (line ~ /^permutation /) { sub(/^permutation /, "", line); gsub(/\([^)]*\)/, "", line); in_spec[spec, line] = 1 }
    if (line ~ /^step check[ \t].*FROM violations/) has_check[spec] = 1
  }
  close(file)
  file = root "/expected/" spec ".out"
  while ((getline line < file) > 0) {
    if (line ~ /^starting permutation: /) { permutation = substr(line, 23); checked = 0 }
    if (line ~ /^step check:/) checked = 1
    if (checked && line == "(0 rows)") clean[spec, permutation] = 1
    if (line ~ /<waiting/) waits[spec, permutation] = 1
    if (line ~ /40001|^ERROR/) fails[spec, permutation] = 1
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
    else if (stage == 2 && words[i] ~ "^s1_" end "(_|$)") stage = 3
  }
  delete at_level
  return stage == 3 && words[count] == "check"
}
function allowed(pairs, pair) { return index(" " pairs " ", " " pair " ") > 0 }
FILENAME ~ /calls\.tsv$/ { if (FNR > 1) calls[++call_count] = $1; next }
FNR > 1 {
  load($5)
  problem = !has_check[$5] ? "has no query for violations" : !(($5, $6) in in_spec) ? "does not exist" \
    : !shows($6, $1, $2, $3, $4) ? "does not show it" : !(($5, $6) in clean) ? "has no empty answer in expected" \
    : (($5, $6) in waits) && !allowed(may_wait, $1 "/" $2) ? "waits" \
    : (($5, $6) in fails) && !allowed(may_fail, $1 "/" $2) ? "fails" : ""
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
}
