# gatepost.max_ttl is lowered while longer leases live: they keep their time, over renewals, a reboot and their recovering, and
# new ones obey the new limit.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../../perl";
use Gatepost;
use Test::More;

my $hour = 3600;
my $node = new_server('cap');

sub at { override($node, 'boottime', $_[0] * 1_000_000); return; }

sub cap
{
	my ($value) = @_;
	query($node, "LOAD 'gatepost'; ALTER SYSTEM SET gatepost.max_ttl = '$value'; SELECT pg_reload_conf()");
	$node->poll_query_until('postgres', "SELECT current_setting('gatepost.max_ttl') = '$value'") or die 'not reloaded';
	return;
}
override($node, 'boot_id', 'one');
at(1000);
my %token = map { $_ => acquire($node, $_, '12 h') } qw(kept renewed shortened rebooted);
my $session = session($node);
session_query($session, q(SELECT gatepost.token_generation()));

cap('1h');
is(query_error($node, q(SELECT gatepost.lease_acquire('new', '2 h'))), '22023', 'a longer ttl is refused');
is(query_error($node, "SELECT gatepost.lease_renew('renewed', $token{renewed}, '2 h')"), '22023', 'in a renewal, too');
ok(acquire($node, 'new', '1 h') > 0, 'one of the limit is granted');
is(status($node, $_, $token{$_}), 'held', "$_: held as before") for sort keys %token;
is(query($node, q(SELECT count(*) FROM gatepost.leases WHERE remaining = '12 h')), 4, 'with all of its time');

# Renewed without a ttl it keeps the one it was granted with.
at(1000 + 6 * $hour);
is(query($node, "SELECT gatepost.lease_renew('renewed', $token{renewed})"), 't', 'renewed');
is(query($node, q(SELECT remaining FROM gatepost.leases WHERE name = 'renewed')), '12:00:00', 'for the ttl of its grant');
is(query($node, "SELECT gatepost.lease_renew('shortened', $token{shortened}, '1 h')"), 't',
	'renewed with a ttl of the new limit');
is(query($node, q(SELECT remaining FROM gatepost.leases WHERE name = 'shortened')), '01:00:00', 'for that');

# To the end and no longer.
override($node, 'boottime', (1000 + 12 * $hour) * 1_000_000 - 1);
is(status($node, 'kept', $token{kept}), 'held', 'a longer lease is held to its end');
is(acquire($node, 'kept', '1 h'), '', 'and its name not granted');
at(1000 + 12 * $hour);
is(status($node, 'kept', $token{kept}), 'lapsed', 'then it has lapsed');
ok(acquire($node, 'kept', '1 h') > $token{kept}, 'and its name is granted');
is(status($node, 'renewed', $token{renewed}), 'held', 'the renewed one is held');
is(query($node, "SELECT gatepost.lease_renew('rebooted', $token{rebooted})"), 'f', 'what has lapsed is not renewed');

# Recovering it counts its own ttl, not the limit.
cap('1s');
end_session($session);
$node->stop('fast');
override($node, 'boot_id', 'two');
at(10);
start_server($node);
is(acquire($node, 'renewed', '1 s'), '', 'not granted after a reboot');
override($node, 'boottime', (10 + 12 * $hour) * 1_000_000 - 1);
is(status($node, 'renewed', $token{renewed}), 'recovering', 'recovering for all of its ttl');
is(acquire($node, 'renewed', '1 s'), '', 'and not granted');
at(10 + 12 * $hour);
is(status($node, 'renewed', $token{renewed}), 'lapsed', 'and no longer');
my $next = acquire($node, 'renewed', '1 s');
cmp_ok($next, '>', $token{renewed}, 'then its name is granted');
is(query_error($node, q(SELECT gatepost.lease_acquire('new', '1001 ms'))), '22023', 'the limit may be as low as 1 s');

# Raised again, at once.
cap('2d');
ok(acquire($node, 'longer', '2 days') > $next, 'a higher limit holds at once');

done_testing();
