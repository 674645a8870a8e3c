title='gatepost run x -- true, and psql with one statement'
clients=(1)
contenders=()
aims=()
# One after the other, so that a pair has the same machine.
measure() {
  local pairs=$((ROUNDS * SECONDS_EACH * 10))
  say "$title"
  PGDATABASE=$measurement perl -MTime::HiRes=time -e '
    my ($pairs) = @ARGV;
    sub took { my $begin = time; system(@_) == 0 or die "@_: $?"; return (time - $begin) * 1000 }
    my @run = qw(gatepost run x -- true);
    my @psql = ("psql", "-XAtqc", "select 1", "-o", "/dev/null");
    took(@run), took(@psql) for 1 .. 5;
    my (@difference, @took);
    for my $pair (1 .. $pairs)
    {
      my ($run, $psql) = $pair % 2 ? (took(@run), took(@psql)) : reverse(took(@psql), took(@run));
      push @difference, $run - $psql;
      push @{ $took[0] }, $run;
      push @{ $took[1] }, $psql;
    }
    sub median { return (sort { $a <=> $b } @_)[ @_ / 2 ] }
    my $more = median(@difference);
    printf "  run %.1f ms, psql %.1f ms, medians of %d pairs\n", median(@{ $took[0] }), median(@{ $took[1] }), $pairs;
    printf "  aim at most 15 ms more: %.1f ms %s\n", $more, $more <= 15 ? "met" : "MISSED"' "$pairs"
}
