# Makes the table of one measurement at one number of clients from lines
#   contender NAME / aim NAME REFERENCE at-least|at-most NUMBER / round NUMBER NAME TPS XIDS

function sort(list, n,   i, j, t) {
  for (i = 2; i <= n; i++)
    for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
}
function median(list, n) { return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2 }

$1 == "contender" { names[++contenders] = $2 }
$1 == "aim" { aims[++aim_count] = $0 }
$1 == "round" { tps[$3, $2] = $4; xids[$3, $2] = $5; if ($2 > rounds) rounds = $2 }

END {
  print title
  printf "  %-22s %10s   %21s  %8s\n", "contender", "median tps", "min .. max", "xids/op"
  for (i = 1; i <= contenders; i++) {
    for (r = 1; r <= rounds; r++) { list[r] = tps[names[i], r]; taken[r] = xids[names[i], r] }
    sort(list, rounds)
    sort(taken, rounds)
    printf "  %-22s %10.0f   %9.0f .. %8.0f  %8.2f\n", names[i], median(list, rounds), list[1], list[rounds], median(taken, rounds)
  }
  for (a = 1; a <= aim_count; a++) {
    split(aims[a], part, " ")
    if (!((part[2], 1) in tps) || !((part[3], 1) in tps)) {
      print "no figures for the aim " aims[a] > "/dev/stderr"
      exit 1
    }
    for (r = 1; r <= rounds; r++)
      # At most: what an operation costs against the reference's, so the other way round.
      list[r] = part[4] == "at-least" ? tps[part[2], r] / tps[part[3], r] : tps[part[3], r] / tps[part[2], r]
    sort(list, rounds)
    ratio = median(list, rounds)
    met = part[4] == "at-least" ? ratio >= part[5] : ratio <= part[5]
    printf "  %-34s %6.2f   (%.2f .. %.2f)   aim %s %s   %s\n", part[2] (part[4] == "at-least" ? " / " : " costs / ") part[3], ratio, list[1],
      list[rounds], part[4] == "at-least" ? "at least" : "at most", part[5], met ? "met" : "MISSED"
  }
}
