# Restarts do not prolong a dead lease, and a server that was down longer than the ttl comes back with it lapsed.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use Gatepost;
use Test::More;

my $node = new_server('restarts');

my $asked = monotonic();
my $dead = acquire($node, 'dead', '3 s');
my $long = acquire($node, 'long', '1 h');

# How long the lease still has.
my $remaining = q(SELECT extract(epoch FROM remaining) FROM gatepost.leases WHERE name = 'dead');
my $last = query($node, $remaining);
ok($last > 0 || monotonic() - $asked >= 3, 'a lease is held until its time');
for my $mode (qw(fast immediate fast immediate fast))
{
	$node->stop($mode);
	start_server($node);
	my $now = query($node, $remaining);
	ok($now < $last || $now == 0, "less is left of it after a restart: $now s");
	$last = $now;
}
ok( $node->poll_query_until('postgres', "SELECT gatepost.lease_status('dead', $dead) = 'lapsed'"),
	'it lapses');
my $elapsed = monotonic() - $asked;
cmp_ok($elapsed, '>=', 3, 'not before its time');
is(query($node, "SELECT gatepost.lease_renew('dead', $dead, '1 h')"), 'f', 'it cannot be renewed');
is(query($node, "SELECT gatepost.lease_release('dead', $dead)"), 'f', 'nor released');
cmp_ok(acquire($node, 'dead', '1 h'), '>', $dead, 'the next holder has a larger token');

# Down for longer than the ttl.
my $short = acquire($node, 'short', '500 ms');
my $granted = monotonic();
$node->stop('fast');
wait_monotonic($granted + 0.5);
start_server($node);
is(status($node, 'short', $short), 'lapsed', 'a lease whose ttl passed while the server was down has lapsed');
is(query($node, "SELECT gatepost.lease_renew('short', $short)"), 'f', 'its holder cannot renew it');
cmp_ok(acquire($node, 'short', '1 h'), '>', $short, 'the next holder has a larger token');
is(query($node, "SELECT gatepost.lease_renew('long', $long)"), 't', 'a lease with time left lived through it all');

done_testing();
