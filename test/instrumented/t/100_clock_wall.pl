# The wall clock is only ever a floor for generations, is not believed when it is a year ahead of everything else, and has
# no say in who holds a lease.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $hour = 3600 * 1_000_000;
my $day = 24 * $hour;
my $year_2026 = 1_767_225_600 * 1_000_000;

my $node = new_server('wall');
my $last = acquire($node, 'held', '1 h');
my $held = $last;
my $generation = query($node, 'SELECT gatepost.token_generation()');
my $now = query($node, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint');
# Of the server's newest file, which may be of the hour before.
my $hours = int(((stat $node->data_dir . '/global/pg_control')[9] * 1_000_000 - $year_2026) / $hour);

# Raises under a wall clock; tokens rise whatever it says.
sub raised
{
	my ($what, $wall) = @_;
	override($node, 'wallclock', $wall);
	my $before = query($node, 'SELECT gatepost.token_generation()');
	my $after = query($node, 'SELECT gatepost.token_raise_generation()');
	my $token = acquire($node, $what, '1 h');
	cmp_ok($token, '>', $last, "$what: the next token is larger");
	is(status($node, 'held', $held), 'held', "$what: a lease is not touched");
	is(acquire($node, 'held', '1 s'), '', "$what: nor granted to anybody");
	$last = $token;
	return $after - $before;
}

is(raised('a clock 400 days ahead', $now + 400 * $day), 1, 'a clock 400 days ahead is not believed');
is(raised('a clock in the year 2000', 946_684_800 * 1_000_000), 1, 'a clock far behind is no floor');
is(raised('a clock at its zero', 0), 1, 'nor is one at its zero');
cmp_ok(raised('a clock 30 days ahead', $now + 30 * $day), '>=', 30 * 24 - 5, 'a clock 30 days ahead is a floor');
is(query($node, 'SELECT gatepost.token_generation()'), int(($now + 30 * $day - $year_2026) / $hour), 'of its hours');
is(raised('the clock set right again', undef), 1, 'set right again it is behind, and no floor');

# A clock that stands still lets leases lapse all the same, and one that jumps does not make them.
override($node, 'wallclock', $now);
my $short = acquire($node, 'short', '300 ms');
ok($node->poll_query_until('postgres', "SELECT gatepost.lease_status('short', $short) = 'lapsed'"),
	'a lease lapses while the wall clock stands still');

# A new extension knows nothing but the clock and the age of the server's files.
override($node, 'wallclock', $now + 4000 * $day);
query($node, 'DROP EXTENSION gatepost; CREATE EXTENSION gatepost');
ok(acquire($node, 'new', '1 h') > 0, 'a new extension grants under a clock ten years ahead');
my $new = query($node, 'SELECT gatepost.token_generation()');
ok($new >= $hours && $new <= $hours + 2, 'with the generation of the hour, by the age of the files');

done_testing();
